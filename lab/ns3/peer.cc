// What ns-3 says of the same channel: one IEEE 802.15.4 channel, unslotted CSMA/CA with acknowledgements.
//
//   peer single PSDU SECONDS SEED            frames a second of one saturated sender
//   peer poisson NODES RATE FRAMES SEED      share of frames that were lost, Poisson arrivals, PSDU 127
//   peer trains NODES INTERVAL SECONDS SEED  share of six-frame trains that lost a frame
//
// Prints one line: the figure. It is linked with ns-3, which is licensed under the GNU GPL, version 2, and is no part of
// what this project ships.

#include <ns3/core-module.h>
#include <ns3/lr-wpan-module.h>
#include <ns3/mobility-module.h>
#include <ns3/network-module.h>
#include <ns3/propagation-module.h>
#include <ns3/spectrum-module.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <vector>

using namespace ns3;

namespace {

// Frame control, sequence number, PAN, two short addresses, check sequence.
constexpr uint32_t overhead = 11;

struct Channel {
    NodeContainer nodes;
    std::vector<Ptr<LrWpanMac>> macs;
    // Takes the channel with it when it goes.
    LrWpanHelper helper;

    Channel(uint32_t count) {
        nodes.Create(count);
        MobilityHelper mobility;
        // The room of the testbed in Paris.
        mobility.SetPositionAllocator("ns3::RandomBoxPositionAllocator",
            "X", StringValue("ns3::UniformRandomVariable[Min=0|Max=7]"),
            "Y", StringValue("ns3::UniformRandomVariable[Min=0|Max=4]"),
            "Z", StringValue("ns3::UniformRandomVariable[Min=0|Max=2]"));
        mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
        mobility.Install(nodes);
        auto devices = helper.Install(nodes);
        helper.AssociateToPan(devices, 0x23);
        helper.AssignStreams(devices, 100);
        for (uint32_t i = 0; i < count; i++)
            macs.push_back(DynamicCast<LrWpanNetDevice>(devices.Get(i))->GetMac());
    }

    void send(uint32_t from, uint32_t to, uint32_t psdu) {
        McpsDataRequestParams request;
        request.m_dstPanId = 0x23;
        request.m_dstAddr = macs[to]->GetShortAddress();
        request.m_txOptions = TX_OPTION_ACK;
        macs[from]->McpsDataRequest(request, Create<Packet>(psdu - overhead));
    }
};

double single(uint32_t psdu, double seconds) {
    Channel channel(2);
    uint64_t sent = 0;
    std::function<void()> next = [&] { channel.send(0, 1, psdu); };
    channel.macs[0]->SetMcpsDataConfirmCallback(MakeCallback(
        +[](std::pair<uint64_t *, std::function<void()> *> *state, McpsDataConfirmParams) {
            ++*state->first;
            Simulator::ScheduleNow(*state->second);
        }).Bind(new std::pair<uint64_t *, std::function<void()> *>(&sent, &next)));
    Simulator::Schedule(Seconds(1), next);
    Simulator::Stop(Seconds(1 + seconds));
    Simulator::Run();
    return sent / seconds;
}

// Frames wait at their sender; one that failed is given up, and the next one follows.
struct Queues {
    Channel channel;
    struct Frame { uint32_t to, psdu; uint64_t train; };
    std::vector<std::deque<Frame>> lines;
    std::vector<bool> broken;
    uint64_t ended = 0, failed = 0;

    Queues(uint32_t count) : channel(count), lines(count) {
        for (uint32_t i = 0; i < count; i++)
            channel.macs[i]->SetMcpsDataConfirmCallback(MakeCallback(&Queues::confirm).Bind(this, i));
    }

    static void confirm(Queues *self, uint32_t from, McpsDataConfirmParams outcome) {
        auto &line = self->lines[from];
        auto frame = line.front();
        line.pop_front();
        self->ended++;
        if (outcome.m_status != IEEE_802_15_4_SUCCESS) {
            self->failed++;
            if (frame.train < self->broken.size()) self->broken[frame.train] = true;
        }
        if (!line.empty()) Simulator::ScheduleNow(&Queues::begin, self, from);
    }

    static void begin(Queues *self, uint32_t from) {
        auto &frame = self->lines[from].front();
        self->channel.send(from, frame.to, frame.psdu);
    }

    void put(uint32_t from, Frame frame) {
        lines[from].push_back(frame);
        if (lines[from].size() == 1) begin(this, from);
    }
};

double poisson(uint32_t count, double rate, uint64_t frames, uint32_t seed) {
    Queues queues(count);
    auto gap = CreateObject<ExponentialRandomVariable>();
    gap->SetAttribute("Mean", DoubleValue(1 / rate));
    gap->SetStream(seed * 2 + 10001);
    auto who = CreateObject<UniformRandomVariable>();
    who->SetStream(seed * 2 + 10002);
    double at = 1;
    for (uint64_t i = 0; i < frames; i++) {
        at += gap->GetValue();
        uint32_t from = who->GetInteger(0, count - 1);
        Simulator::Schedule(Seconds(at), &Queues::put, &queues, from,
            Queues::Frame{(from + 1) % count, 127, ~0ull});
    }
    Simulator::Stop(Seconds(at + 30));
    Simulator::Run();
    return 100.0 * queues.failed / queues.ended;
}

double trains(uint32_t count, double interval, double seconds, uint32_t seed) {
    Queues queues(count);
    auto phase = CreateObject<UniformRandomVariable>();
    phase->SetStream(seed + 20001);
    auto gap = CreateObject<ExponentialRandomVariable>();
    gap->SetAttribute("Mean", DoubleValue(interval));
    gap->SetStream(seed + 30001);
    for (uint32_t from = 0; from < count; from++) {
        for (double at = 1 + gap->GetValue(); at < seconds; at += gap->GetValue()) {
            uint32_t to = phase->GetInteger(0, count - 2);
            to += to >= from;
            uint64_t train = queues.broken.size();
            queues.broken.push_back(false);
            for (int i = 0; i < 6; i++)
                Simulator::Schedule(Seconds(at), &Queues::put, &queues, from,
                    Queues::Frame{to, i < 5 ? 127u : 105u, train});
        }
    }
    Simulator::Stop(Seconds(seconds + 30));
    Simulator::Run();
    uint64_t lost = 0;
    for (bool broken : queues.broken) lost += broken;
    return 100.0 * lost / queues.broken.size();
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 5) {
        std::fprintf(stderr, "usage: peer single PSDU SECONDS SEED | poisson NODES RATE FRAMES SEED | trains NODES INTERVAL SECONDS SEED\n");
        return 2;
    }
    uint32_t seed = std::atoi(argv[argc - 1]);
    RngSeedManager::SetSeed(seed + 1);
    double figure;
    if (!std::strcmp(argv[1], "single")) figure = single(std::atoi(argv[2]), std::atof(argv[3]));
    else if (!std::strcmp(argv[1], "poisson")) figure = poisson(std::atoi(argv[2]), std::atof(argv[3]), std::atoll(argv[4]), seed);
    else figure = trains(std::atoi(argv[2]), std::atof(argv[3]), std::atof(argv[4]), seed);
    std::printf("%.3f\n", figure);
    return 0;
}
