/*
 * motemix: an anonymous, authenticated mix network that fits in a sensor. The C interface.
 *
 * Generated from the crate motemix-capi; change that, not this.
 *
 * A node is a state machine in memory that you lend it. It has no threads, sockets, clock or allocator.
 *
 *   1. motemix_document_open       the signed network document, with every check
 *   2. motemix_node_new            in MOTEMIX_NODE_SIZE(...) bytes, with a source of random bytes and a
 *                                  journal of admitted packets, or motemix_no_journal
 *   3. motemix_node_prepare_epoch  with the node's secret key, then motemix_node_begin_epoch; after a
 *                                  restart motemix_node_restore_admitted with what the journal has
 *   4. for each datagram:          motemix_node_handle_datagram
 *   5. when the time has come that motemix_node_poll_timeout names: motemix_node_handle_timeout
 *   6. after either:               motemix_node_poll_event until MOTEMIX_STATUS_NOTHING, answering each
 *                                  received message with motemix_node_reply once it is safe,
 *                                  then motemix_node_poll_transmit until MOTEMIX_STATUS_NOTHING
 *   7. when nothing else is to do: motemix_node_work, one scalar multiplication a call
 *
 * Two neighbours that have never met, without a network and without a server
 * (docs/spec/link/diet.md):
 *
 *   1. motemix_diet_new            a source of random bytes; the six functions of IoT-CryptoDiet work now
 *   2. motemix_diet_set_identity   with a private key that is kept
 *   3. motemix_diet_hello          the one that begins; motemix_diet_finish with the answer
 *      motemix_diet_answer         the other; motemix_diet_open_first with the first message
 *   4. motemix_diet_seal_message   and motemix_diet_open_message; an empty message is a receipt
 *
 * Readings that stay true wherever they pass (docs/spec/reading.md):
 *
 *   a mote:                        motemix_mote_sign_readings with a sensor, before it is started, then
 *                                  motemix_mote_send_readings, and motemix_mote_identity for whoever is to
 *                                  believe them
 *   without a mote:                motemix_identity_make once, motemix_identity, motemix_reading_sign
 *   whoever believes them:         motemix_device_new, motemix_reading_verify
 *
 * Units. Times of documents are seconds since 1970. Lengths are bytes. Keys are 32 bytes. Times named
 * ..._us, now_us above all, are microseconds of one monotonic clock, 64 bits wide: it begins anywhere, and
 * neither stands still nor goes back nor jumps. A counter of 32 bits has to be extended before it wraps,
 * and a clock that stops while the board sleeps has to be moved on by that time. A jump ahead ends epochs,
 * whose keys are erased in flash too, and gives up messages; what is done then cannot be undone.
 *
 * Lifetimes. Memory lent to a node is the node's until motemix_node_end; do not move it. Everything else
 * that a call is given it has done with when it returns, but for the bytes of a document, which stay until
 * the last use of the motemix_document, and the callbacks, which stay as long as the node.
 *
 * Threads. A node belongs to one thread at a time; calls from interrupts are not allowed. Different
 * nodes do not know of each other.
 *
 * Misuse. Null pointers, short or unaligned memory, calls in any order, and calls with memory in which no
 * node was made (if it can be read and is not left uninitialised) return a status; nothing of the network
 * can make a call do anything but return.
 */


#ifndef MOTEMIX_H
#define MOTEMIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bytes of memory for a mote, enough on any machine, for static arrays; a multiple of 8. Takes the fields
// of motemix_limits in their order: packets, replay, window, messages, returns, headers, nodes, document,
// neighbours. As in
//
//   static uint64_t memory[MOTEMIX_MOTE_SIZE(MOTEMIX_MOTE) / 8];
//   static const motemix_limits limits = { MOTEMIX_MOTE };
#define MOTEMIX_MOTE_SIZE(...) MOTEMIX_MOTE_SIZE_OF(__VA_ARGS__)
#define MOTEMIX_MOTE_SIZE_OF(packets, replay, window, messages, returns, headers, nodes, document,       \
                             neighbours)                                                                 \
    ((MOTEMIX_MOTE_BASE_SIZE + MOTEMIX_TABLES_OF(packets, replay, window, messages, returns, headers,    \
                                                 nodes) + (nodes) * MOTEMIX_ROUTE_SIZE + (document) +    \
      ((neighbours) > 0) * MOTEMIX_NEIGHBOURS_SIZE + (neighbours) * MOTEMIX_SESSION_SIZE + 7) / 8 * 8)

// The same for a node without a mote around it, which has no use for the last two fields.
#define MOTEMIX_NODE_SIZE(...) MOTEMIX_NODE_SIZE_OF(__VA_ARGS__)
#define MOTEMIX_NODE_SIZE_OF(packets, replay, window, messages, returns, headers, nodes, document,       \
                             neighbours)                                                                 \
    ((MOTEMIX_NODE_BASE_SIZE +                                                                           \
      MOTEMIX_TABLES_OF(packets, replay, window, messages, returns, headers, nodes) + 7) / 8 * 8)

#define MOTEMIX_TABLES_OF(packets, replay, window, messages, returns, headers, nodes)                    \
    ((packets) * MOTEMIX_PACKET_SIZE + (messages) * MOTEMIX_MESSAGE_SIZE +                               \
     (returns) * MOTEMIX_RETURN_SIZE + (headers) * MOTEMIX_HEADER_SIZE + (nodes) * MOTEMIX_ENTRY_SIZE +  \
     (replay) + 2 * (window) * MOTEMIX_WINDOW_SIZE)

// What the parts of a node and of a mote take, at most.
#if UINTPTR_MAX > 0xffffffff
#define MOTEMIX_NODE_BASE_SIZE 2232
#define MOTEMIX_MOTE_BASE_SIZE 3704
#define MOTEMIX_NEIGHBOURS_SIZE 1688
#define MOTEMIX_SESSION_SIZE 64
#define MOTEMIX_PACKET_SIZE 388
#define MOTEMIX_MESSAGE_SIZE 168
#define MOTEMIX_RETURN_SIZE 152
#define MOTEMIX_HEADER_SIZE 408
#else
#define MOTEMIX_NODE_BASE_SIZE 2096
#define MOTEMIX_MOTE_BASE_SIZE 3320
#define MOTEMIX_NEIGHBOURS_SIZE 1640
#define MOTEMIX_SESSION_SIZE 64
#define MOTEMIX_PACKET_SIZE 388
#define MOTEMIX_MESSAGE_SIZE 168
#define MOTEMIX_RETURN_SIZE 144
#define MOTEMIX_HEADER_SIZE 400
#endif

// A mote that sends readings and forwards next to nothing: 183 packets an epoch.
#define MOTEMIX_SENDER 2, 512, 8, 2, 4, 2, 16, 1280, 15

// A mote that sends, receives and forwards: 735 packets an epoch.
#define MOTEMIX_MOTE 4, 2048, 32, 2, 4, 2, 16, 1280, 15

// A mote that forwards for many others: 2940 packets an epoch. The tables of an nRF52840.
#define MOTEMIX_MOTE_MIX 24, 8192, 320, 8, 32, 6, 96, 6656, 95


// How many reasons for dropping a datagram there are.
#define MOTEMIX_DROP_REASONS 15

// Bytes of a name with its terminating NUL, at most.
#define MOTEMIX_NAME_SIZE 33

// The most addresses of a node.
#define MOTEMIX_MAX_ADDRESSES 2

// Bytes of a private key of P-256.
#define MOTEMIX_DIET_PRIVATE_KEY_LEN 32

// Bytes of a public key of the six functions: both coordinates, big-endian, as TinyCrypt has them.
#define MOTEMIX_DIET_COORDINATES_LEN 64

// Bytes of a key of AES-128.
#define MOTEMIX_DIET_KEY_LEN 16

// Bytes of an ECDSA signature: r and s, big-endian.
#define MOTEMIX_DIET_SIGNATURE_LEN 64

// Words of 64 bits of a motemix_diet.
#define MOTEMIX_DIET_WORDS 18

// Words of a motemix_diet_initiator.
#define MOTEMIX_DIET_INITIATOR_WORDS 23

// Words of a motemix_diet_pending.
#define MOTEMIX_DIET_PENDING_WORDS 24

// Words of a motemix_diet_session.
#define MOTEMIX_DIET_SESSION_WORDS 24

// Bytes of an identity: a compressed point of P-256.
#define MOTEMIX_DIET_IDENTITY_LEN 33

// Bytes of a hello. No message is as short.
#define MOTEMIX_DIET_HELLO_LEN 75

// Bytes of an answer.
#define MOTEMIX_DIET_ANSWER_LEN 139

// Bytes that a message has besides its text.
#define MOTEMIX_DIET_OVERHEAD 81

// No epoch was seen before: for motemix_document_open.
#define MOTEMIX_NO_EPOCH 18446744073709551615ull

// The board has no clock: a document is taken to be of the present, and only its signatures and
// its epoch are checked. That keeps documents out that are older than one
// seen before; whoever can keep new documents from the board can hold it in the past.
#define MOTEMIX_TIME_UNKNOWN 18446744073709551615ull

// Words of 64 bits of a document.
#define MOTEMIX_DOCUMENT_WORDS 26

// Bytes of every packet, and of every datagram where links are not protected.
#define MOTEMIX_PACKET_LEN 280

// Bytes of a mote's longest datagram: a packet, protected.
#define MOTEMIX_DATAGRAM_LEN 296

// The most bytes of data in a message or a reply.
#define MOTEMIX_DATA_LEN 103

// The most characters of a line for motemix_mote_command.
#define MOTEMIX_LINE_LEN 160

// No node: the value of `motemix_config.receiver` when none is foreseen.
#define MOTEMIX_NO_NODE 65535

// Alignment of the memory of a node, in bytes.
#define MOTEMIX_NODE_ALIGN 8

// Bytes for one node of the network.
#define MOTEMIX_ENTRY_SIZE 34

// Bytes for one remembered message, in one of two tables.
#define MOTEMIX_WINDOW_SIZE 8

// Bytes for one node of the network, beside MOTEMIX_ENTRY_SIZE.
#define MOTEMIX_ROUTE_SIZE 26

// Bytes of a page of a mote's flash: what is erased at once. A flash with smaller pages erases
// several.
#define MOTEMIX_PAGE_LEN 4096

// Words of 64 bits of a motemix_readings.
#define MOTEMIX_READINGS_WORDS 20

// No time: the end of an epoch when nobody knows it.
#define MOTEMIX_NEVER 18446744073709551615ull

// Bytes of the seed that a device's key is made of.
#define MOTEMIX_IDENTITY_SEED_LEN 32

// Bytes of the identity of a device.
#define MOTEMIX_IDENTITY_LEN 32

// Bytes of an introduction that shows a device's key and nothing beside it.
#define MOTEMIX_INTRODUCTION_LEN 36

// Bytes of the longest public key.
#define MOTEMIX_DEVICE_KEY_LEN 33

// What a call says. 0 is success, 1 and 2 are no errors either.
enum motemix_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Done.
    MOTEMIX_STATUS_OK = 0,
    // There is nothing at present: no packet is due, no event waits, no work is left.
    MOTEMIX_STATUS_NOTHING = 1,
    // The datagram went no further. The counters say why; the peer must not be told.
    MOTEMIX_STATUS_DROPPED = 2,
    // A pointer that must not be null is null.
    MOTEMIX_STATUS_NULL = 3,
    // A pointer is not aligned for what it points to; memory for a node needs MOTEMIX_NODE_ALIGN.
    MOTEMIX_STATUS_MISALIGNED = 4,
    // The memory is too small for the node, see MOTEMIX_NODE_SIZE and motemix_node_size.
    MOTEMIX_STATUS_MEMORY_TOO_SMALL = 5,
    // The limits make no node: one packet, message and return at least, 16384 nodes at most.
    MOTEMIX_STATUS_BAD_LIMITS = 6,
    // This is no node: motemix_node_new did not make it, or motemix_node_end ended it.
    MOTEMIX_STATUS_NOT_A_NODE = 7,
    // The node is in another call: calls came from a callback, an interrupt or a second thread.
    MOTEMIX_STATUS_BUSY = 8,
    // This is no document: motemix_document_open did not succeed with it.
    MOTEMIX_STATUS_NOT_A_DOCUMENT = 9,
    // The random source failed, or gave nothing but zeros.
    MOTEMIX_STATUS_RANDOM_FAILED = 10,
    // The buffer is shorter than what goes into it: a packet, a ciphertext or a message.
    MOTEMIX_STATUS_BUFFER_TOO_SMALL = 11,
    // More data than MOTEMIX_DATA_LEN, or a longer network document than there is memory for.
    MOTEMIX_STATUS_TOO_LONG = 12,
    // No number of a node.
    MOTEMIX_STATUS_BAD_ID = 13,
    // An authority's key is unusable, is there twice, or there are too many; or the threshold is
    // none.
    MOTEMIX_STATUS_BAD_AUTHORITIES = 14,
    // The bytes are no network document.
    MOTEMIX_STATUS_DOCUMENT_MALFORMED = 15,
    // Too few of the authorities signed the document.
    MOTEMIX_STATUS_DOCUMENT_UNSIGNED = 16,
    // The document is for later.
    MOTEMIX_STATUS_DOCUMENT_NOT_YET_VALID = 17,
    // The document's time is over.
    MOTEMIX_STATUS_DOCUMENT_EXPIRED = 18,
    // The document is older than one that was seen before.
    MOTEMIX_STATUS_DOCUMENT_ROLLED_BACK = 19,
    // The document is of a network with another profile than mote.
    MOTEMIX_STATUS_DOCUMENT_PROFILE = 20,
    // The document has no such node.
    MOTEMIX_STATUS_UNKNOWN_NODE = 21,
    // The epoch was not prepared with its key.
    MOTEMIX_STATUS_NOT_PREPARED = 22,
    // The epoch is not later than the current one.
    MOTEMIX_STATUS_NOT_LATER = 23,
    // The document has another key for this node than the one prepared.
    MOTEMIX_STATUS_KEY_MISMATCH = 24,
    // The network has more nodes than the limits allow.
    MOTEMIX_STATUS_TOO_MANY_NODES = 25,
    // The nodes make no network: a layer of mixes is empty, or there are too few for a path.
    MOTEMIX_STATUS_BAD_NETWORK = 26,
    // No epoch has begun.
    MOTEMIX_STATUS_NO_EPOCH = 27,
    // As many messages are in flight as there is room for.
    MOTEMIX_STATUS_FULL = 28,
    // The receiver is no other node of the network.
    MOTEMIX_STATUS_UNKNOWN_RECEIVER = 29,
    // The network has too few mixes besides the two ends.
    MOTEMIX_STATUS_NO_PATH = 30,
    // The message does not wait for a reply any more.
    MOTEMIX_STATUS_NOT_WAITING = 31,
    // The replay filter has no room.
    MOTEMIX_STATUS_FILTER_FULL = 32,
    // The journal could not be written, so nothing leaves the node.
    MOTEMIX_STATUS_JOURNAL_FAILED = 33,
    // Refused for a reason that has no number of its own.
    MOTEMIX_STATUS_REFUSED = 34,
    // This is no mote: motemix_mote_open did not make it, or motemix_mote_close ended it.
    MOTEMIX_STATUS_NOT_A_MOTE = 35,
    // The node runs; this is for a mote that stands.
    MOTEMIX_STATUS_RUNS = 36,
    // The mote stands; this is for one that runs.
    MOTEMIX_STATUS_STANDS = 37,
    // The clock is not set.
    MOTEMIX_STATUS_NO_CLOCK = 38,
    // No authority is trusted yet.
    MOTEMIX_STATUS_NO_AUTHORITIES = 39,
    // There is no network document yet.
    MOTEMIX_STATUS_NO_DOCUMENT = 40,
    // The document is of another network than the one before.
    MOTEMIX_STATUS_OTHER_NETWORK = 41,
    // This node has another number in the document than it runs under.
    MOTEMIX_STATUS_OTHER_ID = 42,
    // The epoch has passed: its key is gone.
    MOTEMIX_STATUS_EPOCH_PASSED = 43,
    // The epoch is further ahead of the key than it is moved at a time.
    MOTEMIX_STATUS_KEY_FAR_BEHIND = 44,
    // The key was derived part of the way to the document's epoch.
    MOTEMIX_STATUS_KEY_MOVED = 45,
    // The flash does not do what it is asked for, or what is in it is damaged.
    MOTEMIX_STATUS_FLASH_FAILED = 46,
    // The flash has no room.
    MOTEMIX_STATUS_FLASH_FULL = 47,
    // The regions of the flash cannot be used.
    MOTEMIX_STATUS_BAD_FLASH = 48,
    // There is no address yet that neighbours could send to.
    MOTEMIX_STATUS_NO_ADDRESS = 49,
    // This belongs to a message that is under way.
    MOTEMIX_STATUS_UNDER_WAY = 50,
    // The thread in which the mote runs is not there.
    MOTEMIX_STATUS_NO_THREAD = 51,
    // No source of random bytes was set: motemix_diet_new did not make this, or motemix_diet_end
    // ended it.
    MOTEMIX_STATUS_NOT_A_DIET = 52,
    // The node has no identity yet.
    MOTEMIX_STATUS_NO_IDENTITY = 53,
    // No handshake is under way here.
    MOTEMIX_STATUS_NOT_A_HANDSHAKE = 54,
    // There is no session here.
    MOTEMIX_STATUS_NOT_A_SESSION = 55,
    // The bytes are too short or too long for what they should be.
    MOTEMIX_STATUS_BAD_LENGTH = 56,
    // The message is of another kind.
    MOTEMIX_STATUS_OTHER_KIND = 57,
    // A private key is zero or not below the group's order.
    MOTEMIX_STATUS_BAD_PRIVATE_KEY = 58,
    // A public key is no point of the curve.
    MOTEMIX_STATUS_BAD_PUBLIC_KEY = 59,
    // A signature was not made by this key over these bytes.
    MOTEMIX_STATUS_BAD_SIGNATURE = 60,
    // A ciphertext was altered, or is under another key.
    MOTEMIX_STATUS_BAD_CIPHERTEXT = 61,
    // The message has arrived before, or is too old to tell.
    MOTEMIX_STATUS_REPLAYED = 62,
    // The peer's identity is not admitted.
    MOTEMIX_STATUS_STRANGER = 63,
    // All message numbers of the session are used.
    MOTEMIX_STATUS_EXHAUSTED = 64,
    // The document's nodes protect their links, and `motemix_limits.neighbours` is 0; or the
    // document before was of the other kind, and the node runs.
    MOTEMIX_STATUS_PROTECTED_LINKS = 65,
    // The record has no name or an unsound one, an unsound unit, or too many places.
    MOTEMIX_STATUS_BAD_RECORD = 66,
    // The bytes are no signed reading, or no introduction of a device.
    MOTEMIX_STATUS_NOT_A_READING = 67,
    // This mote signs no readings.
    MOTEMIX_STATUS_NO_READINGS = 68,
    // The message that came last has come once more, byte for byte: answer it with its receipt.
    MOTEMIX_STATUS_REPEATED = 69,
    // The radio, or the thread that serves it, has ended: a mote runs, and nobody hears it.
    MOTEMIX_STATUS_NO_RADIO = 70,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum motemix_status motemix_status;
#else
typedef uint8_t motemix_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What somebody should see to, while the node runs.
enum motemix_warning
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The network document has expired: nothing of the node's own leaves. Give it the next one.
    MOTEMIX_WARNING_EXPIRED = 0,
    // The epoch has ended and no next one has begun: nothing is forwarded. Give it the next
    // document.
    MOTEMIX_WARNING_EPOCH_ENDED = 1,
    // The next epoch could not begin, for this reason.
    MOTEMIX_WARNING_NO_NEXT_EPOCH = 2,
    // At this rate the replay filter is full before the epoch ends.
    MOTEMIX_WARNING_FILTER_FILLS_UP = 3,
    // Packets of others were turned away, so that the replay filter lasts for the epoch.
    MOTEMIX_WARNING_FILTER_RATIONED = 4,
    // The replay filter is full: packets of others are dropped until the next epoch. Replies to
    // own messages still come.
    MOTEMIX_WARNING_FILTER_FULL = 5,
    // Messages cannot be kept and are turned away, for this reason: take some.
    MOTEMIX_WARNING_MESSAGES_TURNED_AWAY = 6,
    // A replay tag cannot be kept, for this reason: the node stops.
    MOTEMIX_WARNING_TAG_NOT_KEPT = 7,
    // Something that this version has no number for.
    MOTEMIX_WARNING_OTHER = 8,
    // The mote's own readings are dropped, for this reason: they cannot be kept, or what the
    // sensor gave is no record.
    MOTEMIX_WARNING_READINGS_DROPPED = 9,
    // Loops do not come back as they should: packets are dropped or held up on their way.
    MOTEMIX_WARNING_LOOPS_LOST = 10,
    // A neighbour's network document is refused, for this reason.
    MOTEMIX_WARNING_DOCUMENT_REFUSED = 11,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum motemix_warning motemix_warning;
#else
typedef uint8_t motemix_warning;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What kind of event.
enum motemix_event_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // A message has arrived. Make it safe, then call motemix_node_reply: without a reply its
    // sender tries again. Has `token`, `id`, `data`, `repeated`.
    MOTEMIX_EVENT_KIND_RECEIVED = 0,
    // A message without a way to reply has arrived. Has `id`, `data`.
    MOTEMIX_EVENT_KIND_DELIVERED = 1,
    // The receiver has a message and has replied. Has `message`, `tries`, `round_trip_us`,
    // `elapsed_us`, `data` (the reply, empty for an acknowledgement).
    MOTEMIX_EVENT_KIND_ACKNOWLEDGED = 2,
    // A message was given up after its last try; it may have arrived nevertheless. Has `message`,
    // `tries`.
    MOTEMIX_EVENT_KIND_DISCARDED = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum motemix_event_kind motemix_event_kind;
#else
typedef uint8_t motemix_event_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How a reading travels, which decides what its key id shows.
enum motemix_reading_path
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // To somebody who may know who sent it.
    MOTEMIX_READING_PATH_DIRECT = 0,
    // Through mixes: the key id is another one in each reading, and names nobody.
    MOTEMIX_READING_PATH_ANONYMOUS = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum motemix_reading_path motemix_reading_path;
#else
typedef uint8_t motemix_reading_path;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A mote. Only the library knows what is in it.
typedef struct motemix_mote motemix_mote;

// A node. Only the library knows what is in it.
typedef struct motemix_node motemix_node;

// A node of IoT-CryptoDiet: its source of random bytes, and its identity once it has one. Only the
// library knows what is in it. It lies wherever the program puts it, and is not to be copied.
typedef struct motemix_diet {
    // The library's.
    uint64_t opaque[MOTEMIX_DIET_WORDS];
} motemix_diet;

// Where random bytes come from: the hardware's generator, or a generator seeded by it. Whoever can
// guess these bytes can read, trace and forge what the node sends.
typedef struct motemix_random {
    // Writes `len` unpredictable bytes to `out` and returns 0, or returns anything else. Is called
    // with 32 when the node is made and once in some thousand uses; the same 16 bytes twice count
    // as failure. Must not call this library with the node that it is called for.
    int (*fill)(void *context, uint8_t *out, size_t len);
    // Handed to `fill`, and never looked at.
    void *context;
} motemix_random;

// A handshake that waits for its answer. Not to be copied.
typedef struct motemix_diet_initiator {
    // The library's.
    uint64_t opaque[MOTEMIX_DIET_INITIATOR_WORDS];
} motemix_diet_initiator;

// Whom a node takes for a neighbour.
typedef struct motemix_diet_admission {
    // Identities of MOTEMIX_DIET_IDENTITY_LEN bytes each, one after the other.
    const uint8_t *identities;
    // How many. With none, and without `anybody`, nobody is admitted.
    size_t count;
    // Whoever comes, instead. A man in the middle comes as well: remember the first identity at
    // each address, and let a person compare it.
    bool anybody;
} motemix_diet_admission;

// A handshake that was answered. Nobody has proved to share its keys, so it sends nothing. Not to
// be copied.
typedef struct motemix_diet_pending {
    // The library's.
    uint64_t opaque[MOTEMIX_DIET_PENDING_WORDS];
} motemix_diet_pending;

// What two neighbours share after a handshake. A copy would use numbers twice, which gives
// messages away: not to be copied. It lives in RAM alone; after a restart there is another
// handshake.
typedef struct motemix_diet_session {
    // The library's.
    uint64_t opaque[MOTEMIX_DIET_SESSION_WORDS];
} motemix_diet_session;

// An opened document. Only the library knows what is in it; it lies wherever the program puts it,
// and may be copied and forgotten. It borrows the bytes that it was opened from.
typedef struct motemix_document {
    // The library's.
    uint64_t opaque[MOTEMIX_DOCUMENT_WORDS];
} motemix_document;

// Whom the caller trusts to describe the network.
typedef struct motemix_trust {
    // The authorities' Ed25519 public keys, 32 bytes each, one after the other.
    const uint8_t *authority_keys;
    // How many keys, 1 to 16.
    uint8_t authorities;
    // How many of them must have signed, 1 or more.
    uint8_t threshold;
} motemix_trust;

// What a document says besides its nodes.
typedef struct motemix_about {
    // The first second in which it may be used, since 1970.
    uint64_t valid_after;
    // The first second in which it may no longer be used.
    uint64_t valid_until;
    // Its epoch.
    uint32_t epoch;
    // How many ids there are, from 0 on. Of an id whose node left the network,
    // motemix_document_node says MOTEMIX_UNKNOWN_NODE.
    uint16_t nodes;
    // The network's name, NUL-terminated.
    char network[MOTEMIX_NAME_SIZE];
} motemix_about;

// Where a node listens for datagrams.
typedef struct motemix_address {
    // The address in network order: 16 bytes of IPv6, or 4 of IPv4 and zeros.
    uint8_t ip[16];
    // The UDP port in the machine's byte order, not 0.
    uint16_t port;
    // 6 or 4.
    uint8_t version;
} motemix_address;

// A node of the network, as its authorities describe it.
typedef struct motemix_descriptor {
    // Its addresses, the preferred one first.
    struct motemix_address addresses[MOTEMIX_MAX_ADDRESSES];
    // Its X25519 key of this epoch.
    uint8_t mix_key[32];
    // Its name, NUL-terminated: `[a-z0-9-]`, unique in the network.
    char name[MOTEMIX_NAME_SIZE];
    // How many addresses there are, 1 or 2.
    uint8_t address_count;
    // Whether it forwards packets for others.
    bool is_mix;
    // The layer of a mix, from 0; 0 for others.
    uint8_t layer;
    // Its number in this epoch.
    uint16_t id;
} motemix_descriptor;

// A packet that the replay filter admitted. A node that gets these back after a restart, with
// motemix_node_restore_admitted, refuses replays of what it took in before.
typedef struct motemix_admitted {
    // What the filter keeps of the packet. It means nothing to who lacks the epoch's mix key.
    uint32_t digest;
    // The epoch of the mix key.
    uint32_t epoch;
} motemix_admitted;

// Where a node writes down what it admits, before anything of it leaves: to flash, say. A node
// that is to keep nothing is given motemix_no_journal.
typedef struct motemix_journal {
    // Notes what was admitted: writes it at once, or keeps it for `commit`, which tells of a
    // failure. Must not call this library with the node that it is called for.
    void (*admit)(void *context, const struct motemix_admitted *admitted);
    // Returns 0 when all that was noted is written, anything else if it cannot be: then nothing
    // leaves the node. Called before each packet leaves, so it should cost nothing if nothing is
    // new. Must not call this library with the node that it is called for.
    int (*commit)(void *context);
    // Handed to both, and never looked at.
    void *context;
} motemix_journal;

// How much a node keeps. A table that is full refuses; nothing is lost silently.
typedef struct motemix_limits {
    // Packets that wait for their delay, messages that wait for a reply. 1 or more.
    uint16_t packets;
    // Bytes of the replay filter. An epoch can have 2 packets in 5 bytes; plan for 7 in 20, so
    // that bursts fit too. What is left is spread over what is left of the epoch; when nothing
    // is, the node takes in nothing more until the next epoch, but for replies to its own
    // messages.
    uint16_t replay;
    // Places of the memory of received messages. Three quarters of them take one message each in
    // the time for which the network's senders try.
    uint16_t window;
    // Messages in flight. 1 or more.
    uint16_t messages;
    // Tries in flight, `messages` or more: with more, a reply to an earlier try counts as well.
    uint16_t returns;
    // Finished headers. Two are kept for cover, the others make sending quick. 1 or more.
    uint16_t headers;
    // Nodes of the network, 1 to 16384.
    uint16_t nodes;
    // Bytes of a network document: about 67 for each node, and 400. A mote needs it; a node, which
    // keeps no document, has no use for it.
    uint16_t document;
    // Neighbours with whom a mote has keys at a time, where the network document turns the
    // protection of links on; with more, the one that was silent longest gives way. 0: it takes
    // part in no such network, and needs no memory for it. A node has no use for it.
    uint16_t neighbours;
} motemix_limits;

// The flash of a mote, from its address 0 on: regions of whole pages, one after the other.
//
// Whoever reads it has the mote's keys. A call returns when what it was asked for is done, and
// returns 0, or anything else if it failed. Addresses and lengths of writes are multiples of 4.
// Writing clears bits, and may be asked for a second time at the same address to clear more of
// them. What was written or erased is read back, and counts as failed if it is something else.
typedef struct motemix_flash {
    // Reads `len` bytes at `address`.
    int (*read)(void *context, uint32_t address, uint8_t *out, size_t len);
    // Writes `len` bytes at `address`.
    int (*write)(void *context, uint32_t address, const uint8_t *bytes, size_t len);
    // Sets all bits of `len` bytes at `address`: whole pages of MOTEMIX_PAGE_LEN.
    int (*erase)(void *context, uint32_t address, size_t len);
    // Handed to all three, and never looked at.
    void *context;
    // Pages for keys, sequence numbers, authorities and network documents: 4 or more. With 4, a
    // document may have 1024 bytes, with 5 it may have 2176, with each further one 1152 more.
    // The same for as long as what is in flash is needed, as are the others.
    uint16_t settings_pages;
    // Pages for replay tags: 2 or more, of 1020 packets each.
    uint16_t tags_pages;
    // Pages for messages that were received and not yet taken: 2 or more, of about 34 of the
    // longest each. One of them may be of no use.
    uint16_t messages_pages;
    // Pages for the mote's own readings that were not acknowledged: 2 or more, of about 34 each,
    // for motemix_mote_sign_readings. 0: it signs none.
    uint16_t readings_pages;
} motemix_flash;

// What a mote runs on. The callbacks must not call the mote that calls them.
typedef struct motemix_platform {
    // Random bytes.
    struct motemix_random random;
    // What outlives a restart.
    struct motemix_flash flash;
    // Sends a UDP datagram to a neighbour, and returns 0 if the network stack took it. One that it
    // did not take is lost, as if the air had lost it.
    int (*send)(void *context, const struct motemix_address *to, const uint8_t *packet, size_t len);
    // Prints text, not NUL-terminated: what motemix_mote_command answers. May be null.
    void (*print)(void *context, const uint8_t *text, size_t len);
    // A message is in flash, see motemix_mote_message. May be null.
    void (*received)(void *context);
    // The receiver of message `message` has it in its flash, or on its disk. May be null.
    void (*acknowledged)(void *context, uint64_t message, uint64_t round_trip_us, uint8_t tries);
    // Message `message` was given up after its last try, or because the node stopped; it may have
    // arrived nevertheless. May be null.
    void (*discarded)(void *context, uint64_t message, uint8_t tries);
    // An epoch begins: the node has turned to the next network document. May be null.
    void (*epoch_begins)(void *context, uint32_t epoch);
    // A neighbour had the network document of the next epoch, which is in flash now: nobody need
    // give it to this mote. May be null.
    void (*document_came)(void *context, uint32_t epoch);
    // Somebody should see to something: what, and why. May be null.
    void (*warned)(void *context, motemix_warning warning, motemix_status reason);
    // Handed to the callbacks above, and never looked at; random bytes and flash have their own.
    void *context;
} motemix_platform;

// Totals since the node was made.
typedef struct motemix_counters {
    // Datagrams handed to the node.
    uint64_t datagrams;
    // Packets sent, of all kinds.
    uint64_t transmitted;
    // Packets taken in to be sent on.
    uint64_t forwarded;
    // Messages handed to the application, each once.
    uint64_t delivered;
    // Tries of messages that had been handed over before.
    uint64_t duplicates;
    // Replies and acknowledgements given.
    uint64_t replied;
    // Packets turned round that brought no message: filler of payload streams, or a payload that
    // was changed on the way.
    uint64_t turned_empty;
    // Messages accepted for sending.
    uint64_t sent;
    // Tries after the first.
    uint64_t retransmitted;
    // Tries that came back without a reply: refused, or changed on the way.
    uint64_t returned_empty;
    // Messages whose reply came back.
    uint64_t acknowledged;
    // Messages given up after the last try.
    uint64_t discarded;
    // Loop cover sent.
    uint64_t loops_sent;
    // Loop cover that came back.
    uint64_t loops_returned;
    // Drop cover sent.
    uint64_t drops_sent;
    // Drop cover that ended here.
    uint64_t drops_received;
    // Times at which cover was due, and no header was ready or the queue had no room.
    uint64_t cover_missed;
    // Headers built.
    uint64_t headers_built;
    // Packets dropped, by reason; see motemix_drop_reason_text.
    uint64_t dropped[MOTEMIX_DROP_REASONS];
} motemix_counters;

// What a mote needs to sign readings. Only the library knows what is in it. It belongs to the mote
// until motemix_mote_close, and is not to be moved.
typedef struct motemix_readings {
    // The library's.
    uint64_t opaque[MOTEMIX_READINGS_WORDS];
} motemix_readings;

// What a sensor says: one record of SenML (RFC 8428). The value is `value` divided by 10 to the
// power of `places`: 215 with one place is 21.5.
typedef struct motemix_record {
    // What was measured, NUL-terminated: letters, digits and `-:./_`, and one of the first two at
    // its beginning. A message has room for 22 bytes of SenML, and with a time there is room for a
    // name and a unit of four characters together beside digits from -256 to 255 with their point.
    // Longer ones are told by `warned`, with MOTEMIX_STATUS_TOO_LONG.
    const char *name;
    // A unit of SenML's registry, NUL-terminated, such as `Cel`; null for a bare number.
    const char *unit;
    // The digits of the value.
    int64_t value;
    // When it was measured, in seconds since 1970. 0: a mote writes its clock's time, and
    // motemix_reading_sign writes none.
    uint64_t time;
    // How many of the digits are behind the point, 18 at most.
    uint8_t places;
} motemix_record;

// What measures.
typedef struct motemix_sensor {
    // Writes what it measured to `record`, whose texts stay until the next call, and returns 0. Or
    // returns anything else: there is no reading this time. Must not call the mote.
    int (*measure)(void *context, struct motemix_record *record);
    // Handed to `measure`, and never looked at.
    void *context;
} motemix_sensor;

// What a node is to do; what all nodes must agree on comes from the network document.
typedef struct motemix_config {
    // For how long the application may keep a received message before it replies, in microseconds.
    // 0: ten seconds.
    uint64_t answer_within_us;
    // This node's number in the network document; it keeps it from epoch to epoch.
    uint16_t id;
    // Build headers for this receiver before the first message, or MOTEMIX_NO_NODE. Afterwards
    // they are built for the receiver of the last message.
    uint16_t receiver;
} motemix_config;

// A packet has been written to the caller's buffer.
typedef struct motemix_transmit {
    // The number of the node to send it to; motemix_document_node knows its addresses.
    uint16_t to;
    // Its bytes: always MOTEMIX_PACKET_LEN.
    uint16_t len;
} motemix_transmit;

// Something that the application should know. Fields that an event does not have are zero.
typedef struct motemix_event {
    // Names a received message, for motemix_node_reply and motemix_node_refuse.
    uint64_t token;
    // Which message of this node, as motemix_node_send numbered it.
    uint64_t message;
    // From sending the try that came back until it came back, in microseconds.
    uint64_t round_trip_us;
    // From motemix_node_send until the reply came back, in microseconds.
    uint64_t elapsed_us;
    // What the message or the reply says. Points into the node's memory, and only until the next
    // call with this node. Not null; not NUL-terminated.
    const uint8_t *data;
    // Bytes of `data`, at most MOTEMIX_DATA_LEN.
    size_t len;
    // The message's id, as its sender chose it.
    uint8_t id[4];
    // What kind of event.
    motemix_event_kind kind;
    // Tries made.
    uint8_t tries;
    // The application has replied to this message with data before, and the reply was lost: give
    // the same reply again, and do not act on the message a second time.
    bool repeated;
} motemix_event;

// A device whose readings are believed. Keep all of it where it survives a restart: whoever
// forgets what arrived takes it again.
typedef struct motemix_device {
    // One above the highest number that was accepted.
    uint64_t next;
    // Which of the 64 numbers below that were accepted.
    uint64_t seen;
    // Its identity.
    uint8_t identity[MOTEMIX_IDENTITY_LEN];
    // Its public key: 32 bytes of Ed25519, or 33 of P-256.
    uint8_t key[MOTEMIX_DEVICE_KEY_LEN];
    // How many of them there are.
    uint8_t key_len;
} motemix_device;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The name of a reason in `motemix_counters.dropped`, 0 to MOTEMIX_DROP_REASONS - 1, as in
// "bad-header-mac". Null for any other number; the text is constant.
const char *motemix_drop_reason_text(uint8_t reason);

// Sets the source of random bytes, which is copied: nothing of motemix_diet_... works before, but
// answers MOTEMIX_STATUS_NOT_A_DIET. Makes no key yet. The callback has to outlive `diet`.
motemix_status motemix_diet_new(struct motemix_diet *diet, const struct motemix_random *random);

// Wipes it, and its identity. Its sessions go on, but every call needs a motemix_diet: another
// one.
motemix_status motemix_diet_end(struct motemix_diet *diet);

// ECC_GenKeyPair of the paper (algorithm 1): a key pair on P-256, for key exchange or for
// signatures, not for both. Writes MOTEMIX_DIET_PRIVATE_KEY_LEN and MOTEMIX_DIET_COORDINATES_LEN
// bytes. One scalar multiplication.
motemix_status motemix_diet_generate_key_pair(struct motemix_diet *diet,
                                              uint8_t *private_key,
                                              uint8_t *public_key);

// ECDH_GenSharedKey of the paper (algorithm 2): the key that the owners of two key pairs share,
// MOTEMIX_DIET_KEY_LEN bytes to `key`. MOTEMIX_STATUS_BAD_PRIVATE_KEY or
// MOTEMIX_STATUS_BAD_PUBLIC_KEY if one is none. One scalar multiplication.
motemix_status motemix_diet_shared_key(struct motemix_diet *diet,
                                       const uint8_t *private_key,
                                       const uint8_t *peer_public_key,
                                       uint8_t *key);

// AES_Encrypt of the paper (algorithm 3): AES-128 block by block, padded as PKCS #7 does, which
// shows which blocks are equal; motemix_diet_seal_message does not. Writes `len / 16 * 16 + 16`
// bytes to `ciphertext`, which has room for `room` and is not the message, and their number to
// `ciphertext_len`. MOTEMIX_STATUS_BUFFER_TOO_SMALL if there is less room.
motemix_status motemix_diet_encrypt(struct motemix_diet *diet,
                                    const uint8_t *key,
                                    const uint8_t *message,
                                    size_t len,
                                    uint8_t *ciphertext,
                                    size_t room,
                                    size_t *ciphertext_len);

// AES_Decrypt of the paper (algorithm 4), in place: the message is at the beginning of
// `ciphertext`, and its length is written to `len_of_message`. MOTEMIX_STATUS_BAD_LENGTH if it is
// not of whole blocks; MOTEMIX_STATUS_BAD_CIPHERTEXT if the padding is wrong, which that of an
// altered one need not be.
motemix_status motemix_diet_decrypt(struct motemix_diet *diet,
                                    const uint8_t *key,
                                    uint8_t *ciphertext,
                                    size_t len,
                                    size_t *len_of_message);

// ECDSA_sign of the paper (algorithm 5), over the SHA-256 digest of a message: writes
// MOTEMIX_DIET_SIGNATURE_LEN bytes. MOTEMIX_STATUS_BAD_PRIVATE_KEY if the key is none. One scalar
// multiplication.
motemix_status motemix_diet_sign(struct motemix_diet *diet,
                                 const uint8_t *private_key,
                                 const uint8_t *message,
                                 size_t len,
                                 uint8_t *signature);

// ECDSA_verify of the paper (algorithm 6). MOTEMIX_STATUS_BAD_SIGNATURE if the signature is
// another's, or the message is another; MOTEMIX_STATUS_BAD_PUBLIC_KEY if the key is none. Two
// scalar multiplications.
motemix_status motemix_diet_verify(struct motemix_diet *diet,
                                   const uint8_t *public_key,
                                   const uint8_t *message,
                                   size_t len,
                                   const uint8_t *signature);

// Gives the node its identity: the private key of a pair from motemix_diet_generate_key_pair that
// signs nothing else, and is kept over restarts. Writes MOTEMIX_DIET_IDENTITY_LEN bytes to
// `identity`, by which others admit it. One scalar multiplication.
motemix_status motemix_diet_set_identity(struct motemix_diet *diet,
                                         const uint8_t *private_key,
                                         uint8_t *identity);

// Begins a handshake: writes a hello of MOTEMIX_DIET_HELLO_LEN bytes, to be sent or broadcast
// until an answer comes. One scalar multiplication.
motemix_status motemix_diet_hello(struct motemix_diet *diet,
                                  struct motemix_diet_initiator *initiator,
                                  uint8_t *hello);

// Answers a hello of `len` bytes: writes an answer of MOTEMIX_DIET_ANSWER_LEN bytes. A hello that
// is refused changes nothing: MOTEMIX_STATUS_BAD_LENGTH, _OTHER_KIND, _STRANGER or
// _BAD_PUBLIC_KEY. Three scalar multiplications, none for a stranger. The sender of a hello may be
// invented: bound how many you answer in a second, and how many wait. If the same hello comes
// again, send the same answer again.
motemix_status motemix_diet_answer(struct motemix_diet *diet,
                                   const uint8_t *hello,
                                   size_t len,
                                   const struct motemix_diet_admission *admission,
                                   struct motemix_diet_pending *pending,
                                   uint8_t *answer);

// Ends a handshake with its answer of `len` bytes: wipes `initiator` and makes `session`. An
// answer that is refused changes nothing, for the right one may still come:
// MOTEMIX_STATUS_BAD_LENGTH, _OTHER_KIND, _STRANGER, _BAD_PUBLIC_KEY or _BAD_SIGNATURE. Three
// scalar multiplications, none for a stranger.
motemix_status motemix_diet_finish(struct motemix_diet *diet,
                                   struct motemix_diet_initiator *initiator,
                                   const uint8_t *answer,
                                   size_t len,
                                   const struct motemix_diet_admission *admission,
                                   struct motemix_diet_session *session);

// Opens the first message of a handshake that was answered, which proves the peer: wipes `pending`
// and makes `session`, whatever was there before. Otherwise as motemix_diet_open_message; a
// message that is refused leaves both as they were.
motemix_status motemix_diet_open_first(struct motemix_diet *diet,
                                       struct motemix_diet_pending *pending,
                                       uint8_t *datagram,
                                       size_t len,
                                       struct motemix_diet_session *session,
                                       const uint8_t **text,
                                       size_t *text_len);

// Seals a message of `len` bytes into `datagram`, which has room for `room`, and writes to
// `datagram_len` how many it has: MOTEMIX_DIET_OVERHEAD more than the text. A receipt is a message
// without text. MOTEMIX_STATUS_BUFFER_TOO_SMALL if there is less room; MOTEMIX_STATUS_EXHAUSTED
// after 2^64 - 1 messages. One scalar multiplication.
motemix_status motemix_diet_seal_message(struct motemix_diet *diet,
                                         struct motemix_diet_session *session,
                                         const uint8_t *message,
                                         size_t len,
                                         uint8_t *datagram,
                                         size_t room,
                                         size_t *datagram_len);

// Opens a datagram of `len` bytes in place: `text` is where the text is in it, `text_len` its
// length. A datagram that is refused leaves the session as it was, but not the datagram, so keep a
// copy if it is to be opened by another: MOTEMIX_STATUS_BAD_LENGTH, _OTHER_KIND, _REPLAYED,
// _REPEATED, _BAD_CIPHERTEXT or _BAD_SIGNATURE. A datagram of a stranger costs no scalar
// multiplication, one of the peer two.
motemix_status motemix_diet_open_message(struct motemix_diet *diet,
                                         struct motemix_diet_session *session,
                                         uint8_t *datagram,
                                         size_t len,
                                         const uint8_t **text,
                                         size_t *text_len);

// The identity of a session's peer: MOTEMIX_DIET_IDENTITY_LEN bytes.
motemix_status motemix_diet_peer(struct motemix_diet_session *session, uint8_t *identity);

// Wipes a handshake that is given up.
motemix_status motemix_diet_end_initiator(struct motemix_diet_initiator *initiator);

// Wipes a handshake that was answered and is given up.
motemix_status motemix_diet_end_pending(struct motemix_diet_pending *pending);

// Wipes a session.
motemix_status motemix_diet_end_session(struct motemix_diet_session *session);

// Opens a signed network document: counts the signatures, checks every field, its time and its
// profile. `bytes` are borrowed, `len` of them, until the last use of `document`; they may lie in
// flash. `unix_time` is the present in seconds since 1970, or MOTEMIX_TIME_UNKNOWN. `newest_epoch`
// is the epoch of the newest document that this node has ever opened, which it should keep over
// restarts, or MOTEMIX_NO_EPOCH. One signature verification for each authority at most.
motemix_status motemix_document_open(struct motemix_document *document,
                                     const uint8_t *bytes,
                                     size_t len,
                                     const struct motemix_trust *trust,
                                     uint64_t unix_time,
                                     uint64_t newest_epoch);

// Closes a document, after which the bytes may go. Nothing leaks if this is left out.
motemix_status motemix_document_close(struct motemix_document *document);

// What a document says besides its nodes.
motemix_status motemix_document_about(const struct motemix_document *document,
                                      struct motemix_about *about);

// The node of this number. Reads the document from its beginning, as all searches do.
motemix_status motemix_document_node(const struct motemix_document *document,
                                     uint16_t id,
                                     struct motemix_descriptor *descriptor);

// The node of this name, of `len` bytes.
motemix_status motemix_document_find(const struct motemix_document *document,
                                     const char *name,
                                     size_t len,
                                     struct motemix_descriptor *descriptor);

// The node with this mix key of 32 bytes: how a node learns which one it is.
motemix_status motemix_document_find_key(const struct motemix_document *document,
                                         const uint8_t *mix_key,
                                         struct motemix_descriptor *descriptor);

// A journal that keeps nothing: after a restart with the same key, the node takes every packet
// that was recorded before for a new one, once.
struct motemix_journal motemix_no_journal(void);

// The bytes of memory that a mote with these limits needs on this machine; 0 if the limits make no
// mote. MOTEMIX_MOTE_SIZE says it at compile time, and a little more than is needed.
size_t motemix_mote_size(const struct motemix_limits *limits);

// Makes a mote in `memory`, which belongs to it until motemix_mote_close: `len` bytes, aligned to
// MOTEMIX_NODE_ALIGN. Opens its flash, and makes a key if there is none. `platform` is copied; its
// callbacks and contexts have to outlive the mote. Writes the mote to `mote`: the same address as
// `memory`. The mote stands: motemix_mote_start runs it.
motemix_status motemix_mote_open(void *memory,
                                 size_t len,
                                 const struct motemix_limits *limits,
                                 const struct motemix_platform *platform,
                                 struct motemix_mote **mote);

// Ends a mote: its keys and tables in memory are overwritten with zeros, and the memory is the
// caller's again. The flash stays as it is. Nothing is called back.
motemix_status motemix_mote_close(struct motemix_mote *mote);

// Where others send to, an IPv6 address: the command `key` tells it to the network's authority.
// While the mote stands.
motemix_status motemix_mote_set_address(struct motemix_mote *mote,
                                        const struct motemix_address *address);

// Sets the clock, in seconds since 1970. While the mote stands.
motemix_status motemix_mote_set_time(struct motemix_mote *mote,
                                     uint64_t now_us,
                                     uint64_t unix_time);

// The mote's public key of an epoch, for the network's authority: 32 bytes. One scalar
// multiplication.
motemix_status motemix_mote_public_key(struct motemix_mote *mote,
                                       uint32_t epoch,
                                       uint8_t *public_key);

// Takes network documents that `threshold` of these authorities signed: `authorities` Ed25519
// keys of 32 bytes each, four at most. They are kept in flash. While the mote stands.
motemix_status motemix_mote_trust(struct motemix_mote *mote,
                                  uint8_t threshold,
                                  const uint8_t *authority_keys,
                                  uint8_t authorities);

// The same of these authorities and of those that are trusted already: four in all.
motemix_status motemix_mote_trust_also(struct motemix_mote *mote,
                                       uint8_t threshold,
                                       const uint8_t *authority_keys,
                                       uint8_t authorities);

// Puts `len` bytes of a network document, those from its byte `at` on, into the mote's memory for
// one. MOTEMIX_STATUS_TOO_LONG if they do not fit into `motemix_limits.document` bytes.
//
// While the mote runs, documents of neighbours come into the same memory. So the piece at byte 0
// has to come first. From then on no other document is collected, until this one is kept or
// refused, or ten minutes after its last piece. No bytes at 0 drop what was given.
// MOTEMIX_STATUS_NO_DOCUMENT if `at` is not 0 and none is being given.
motemix_status motemix_mote_give_document(struct motemix_mote *mote,
                                          size_t at,
                                          const uint8_t *piece,
                                          size_t len);

// Checks the network document that was given, `len` bytes in all, and keeps it in flash. While the
// mote stands, it has to be valid now; while it runs, it is the next epoch's, which begins in its
// time. MOTEMIX_STATUS_KEY_MOVED: call again. MOTEMIX_STATUS_NO_DOCUMENT if it runs and none is
// being given.
motemix_status motemix_mote_keep_document(struct motemix_mote *mote, uint64_t now_us, size_t len);

// Runs the node in the epoch of the network document in flash, whose signatures it checks.
// MOTEMIX_STATUS_KEY_MOVED: call again.
motemix_status motemix_mote_start(struct motemix_mote *mote, uint64_t now_us);

// Stops the node and wipes its keys from memory. Messages under way are given up, with a call of
// `discarded` for each. MOTEMIX_STATUS_STANDS if it does not run.
motemix_status motemix_mote_stop(struct motemix_mote *mote);

// Takes a datagram in: two scalar multiplications at most, three where two epochs meet. `from` is
// the IPv6 address and the port that it came from. It tells neighbours apart, so that none of them
// uses up the others' share, and where links are protected it says whose key the datagram is
// under. What the node does not take it counts, and no answer to a peer may depend on it. Poll the
// mote afterwards.
motemix_status motemix_mote_handle_datagram(struct motemix_mote *mote,
                                            uint64_t now_us,
                                            const struct motemix_address *from,
                                            const uint8_t *bytes,
                                            size_t len);

// Does what is due, one scalar multiplication at most, or the check of the signatures of a network
// document that a neighbour had, one for each authority. MOTEMIX_STATUS_OK: call again, and let
// others take their turn before. MOTEMIX_STATUS_NOTHING: call again at the time that is written to
// `next_us`, MOTEMIX_NEVER for none, or after any other call. MOTEMIX_STATUS_STANDS: the node does
// not run, or has just stopped because the flash does not work; what it printed says why.
motemix_status motemix_mote_poll(struct motemix_mote *mote, uint64_t now_us, uint64_t *next_us);

// Sends `len` bytes to the node of this name, of `name_len` bytes. A sequence number in decimal
// and a space go in front of them: up to eleven bytes of MOTEMIX_DATA_LEN. Writes the message's
// number to `message`, for the callback that ends it. Poll the mote afterwards.
motemix_status motemix_mote_send(struct motemix_mote *mote,
                                 uint64_t now_us,
                                 const uint8_t *name,
                                 size_t name_len,
                                 const uint8_t *data,
                                 size_t len,
                                 uint64_t *message);

// The message that has been in flash longest: its id, 4 bytes, to `id`, which may be null, its
// data to `data`, which has room for MOTEMIX_DATA_LEN bytes, and its length to `len`. It stays
// until motemix_mote_forget_message. MOTEMIX_STATUS_NOTHING if there is none.
motemix_status motemix_mote_message(struct motemix_mote *mote,
                                    uint8_t *id,
                                    uint8_t *data,
                                    size_t *len);

// Removes the message that has been in flash longest, once it is safe elsewhere.
motemix_status motemix_mote_forget_message(struct motemix_mote *mote);

// The epoch in which the node runs, written to `epoch`.
motemix_status motemix_mote_epoch(struct motemix_mote *mote, uint32_t *epoch);

// What the node did since motemix_mote_start.
motemix_status motemix_mote_counters(struct motemix_mote *mote, struct motemix_counters *counters);

// What a warning means. Never null; the text is constant.
const char *motemix_warning_text(uint8_t warning);

// Lets the mote sign readings of this sensor, with a key of its own that it makes when it is first
// needed. Each is signed once, stays in flash until it is acknowledged, and is sent at random
// intervals: motemix_mote_send_readings says to whom. Takes `motemix_flash.readings_pages`, 2 or
// more. `readings` belongs to the mote until motemix_mote_close; `sensor` is copied, and its
// callback has to outlive the mote. While the mote stands.
motemix_status motemix_mote_sign_readings(struct motemix_mote *mote,
                                          struct motemix_readings *readings,
                                          const struct motemix_sensor *sensor);

// The identity of this device, MOTEMIX_IDENTITY_LEN bytes, and its introduction,
// MOTEMIX_INTRODUCTION_LEN bytes, which shows the key to whoever has the identity. Makes the key
// and keeps it in flash if there is none. Does what signing a reading does, in about half the
// time.
motemix_status motemix_mote_identity(struct motemix_mote *mote,
                                     uint8_t *identity,
                                     uint8_t *introduction);

// From now on measures, signs and sends a reading to the node of this name, of `name_len`
// bytes, at random times (a Poisson process), `seconds` apart on average; 0 seconds:
// measures no more. One reading is under way at a time, and `acknowledged` and `discarded` tell
// of it as of any message. When the flash is full, later ones are dropped, and `warned` says
// so. A stop ends it. While the mote runs. Poll the mote afterwards.
motemix_status motemix_mote_send_readings(struct motemix_mote *mote,
                                          uint64_t now_us,
                                          const uint8_t *name,
                                          size_t name_len,
                                          uint32_t seconds);

// Does what a line says that somebody typed: `len` characters without the end of the line. What
// the mote answers, it prints; `help` lists the commands, docs/spec/mote.md specifies them. Poll
// the mote afterwards. A library that was built with `--cfg motemix_without_console` has no such
// call.
motemix_status motemix_mote_command(struct motemix_mote *mote,
                                    uint64_t now_us,
                                    const uint8_t *line,
                                    size_t len);

// The public key of a mix key: what the network document has to say of this node. One scalar
// multiplication. `secret` and `public_key` are 32 bytes each.
motemix_status motemix_public_key(const uint8_t *secret, uint8_t *public_key);

// The bytes of memory that a node with these limits needs on this machine; 0 if the limits make no
// node. MOTEMIX_NODE_SIZE says it at compile time, and a little more than is needed.
size_t motemix_node_size(const struct motemix_limits *limits);

// Makes a node in `memory`, which belongs to it until motemix_node_end: `len` bytes, aligned to
// MOTEMIX_NODE_ALIGN. What was there is overwritten. `random` and `journal` are copied; their
// callbacks and contexts have to outlive the node. A node that is to write nothing down is given
// what motemix_no_journal returns. Writes the node to `node`: the same address as `memory`.
motemix_status motemix_node_new(void *memory,
                                size_t len,
                                const struct motemix_limits *limits,
                                const struct motemix_config *config,
                                const struct motemix_random *random,
                                const struct motemix_journal *journal,
                                struct motemix_node **node);

// Ends a node: its keys and tables are overwritten with zeros, and the memory is the caller's
// again.
motemix_status motemix_node_end(struct motemix_node *node);

// Accepts packets for a later epoch from now on, under the mix key of these 32 bytes, which are
// copied. Takes the place of the key of the epoch before. One scalar multiplication.
motemix_status motemix_node_prepare_epoch(struct motemix_node *node,
                                          uint32_t epoch,
                                          const uint8_t *secret);

// Makes the prepared epoch the current one, with the network of an opened document, until about
// `ends_us` of the caller's clock, when the next document should be in force: the replay filter is
// made to last until then. MOTEMIX_NEVER if nobody knows; then its places go to whoever comes
// first. Nothing keeps `document` after the call. Finished headers are forgotten, messages in
// flight stay.
motemix_status motemix_node_begin_epoch(struct motemix_node *node,
                                        uint64_t now_us,
                                        uint64_t ends_us,
                                        const struct motemix_document *document);

// The current epoch, written to `epoch`. MOTEMIX_STATUS_NO_EPOCH if none has begun.
motemix_status motemix_node_epoch(struct motemix_node *node, uint32_t *epoch);

// Takes a datagram in: two scalar multiplications at most, three where two epochs meet. `from`
// names the neighbour that it came from: any number that is the same for the same neighbour, such
// as its link-layer address, so that none of them uses up the others' share. The bytes are
// overwritten. MOTEMIX_STATUS_DROPPED if it goes no further; no answer to a peer may depend on it.
motemix_status motemix_node_handle_datagram(struct motemix_node *node,
                                            uint64_t now_us,
                                            uint64_t from,
                                            uint8_t *bytes,
                                            size_t len);

// Does what has become due: retries, cover, the end of an overlap of epochs. To be called when
// motemix_node_poll_timeout says so; more often does no harm.
motemix_status motemix_node_handle_timeout(struct motemix_node *node, uint64_t now_us);

// When motemix_node_handle_timeout or motemix_node_poll_transmit has something to do next, in
// microseconds of the caller's clock. MOTEMIX_STATUS_NOTHING if only a datagram or a message can
// change anything.
motemix_status motemix_node_poll_timeout(struct motemix_node *node, uint64_t *at_us);

// The next packet that is due, written to `out`, which has room for `len` bytes:
// MOTEMIX_PACKET_LEN at least. Before anything leaves, the journal has all that was admitted.
// MOTEMIX_STATUS_NOTHING if none is due, MOTEMIX_STATUS_JOURNAL_FAILED if the journal cannot be
// written.
motemix_status motemix_node_poll_transmit(struct motemix_node *node,
                                          uint64_t now_us,
                                          uint8_t *out,
                                          size_t len,
                                          struct motemix_transmit *transmit);

// The next thing that the application should know. MOTEMIX_STATUS_NOTHING if there is none. What
// `event->data` points to lasts until the next call with this node.
motemix_status motemix_node_poll_event(struct motemix_node *node, struct motemix_event *event);

// Accepts a message of `len` bytes for node `to`; they are copied. It leaves when a header is
// ready, see motemix_node_work. Writes the message's number to `message`, for the event that ends
// it.
motemix_status motemix_node_send(struct motemix_node *node,
                                 uint64_t now_us,
                                 uint16_t to,
                                 const uint8_t *data,
                                 size_t len,
                                 uint64_t *message);

// Replies to a received message with `len` bytes; without any it is an acknowledgement. Only now
// does the sender learn that the message arrived: make it safe first.
motemix_status motemix_node_reply(struct motemix_node *node,
                                  uint64_t now_us,
                                  uint64_t token,
                                  const uint8_t *data,
                                  size_t len);

// Lets go of a received message that cannot be made safe. Its sender tries again.
motemix_status motemix_node_refuse(struct motemix_node *node, uint64_t token);

// Builds headers when there is nothing else to do: one scalar multiplication a call, the longest
// that any call takes without an answer. MOTEMIX_STATUS_OK if there is more to do,
// MOTEMIX_STATUS_NOTHING if not.
motemix_status motemix_node_work(struct motemix_node *node, uint64_t now_us);

// Puts back what the journal kept before a restart, once its epoch is prepared or begun. Other
// epochs are passed over. MOTEMIX_STATUS_FILTER_FULL if the memory is smaller than it was: packets
// that are not put back could pass again, so the node must not run.
motemix_status motemix_node_restore_admitted(struct motemix_node *node,
                                             const struct motemix_admitted *admitted);

// Stops or resumes this node's own cover traffic. What it forwards goes on.
motemix_status motemix_node_set_cover(struct motemix_node *node, uint64_t now_us, bool on);

// Messages that motemix_node_send accepted and whose end was not polled yet.
motemix_status motemix_node_in_flight(struct motemix_node *node, size_t *messages);

// How many packets the current epoch's replay filter has admitted, and how many it can in all.
motemix_status motemix_node_replay_filter_fill(struct motemix_node *node,
                                               size_t *admitted,
                                               size_t *most);

// What happened so far.
motemix_status motemix_node_counters(struct motemix_node *node, struct motemix_counters *counters);

// A new seed of a device's key, MOTEMIX_IDENTITY_SEED_LEN bytes, from a source of random bytes.
// Whoever has it signs as this device: keep it in flash, and make it once.
motemix_status motemix_identity_make(const struct motemix_random *random, uint8_t *seed);

// The identity of a seed's key, MOTEMIX_IDENTITY_LEN bytes, which a person or a list tells to
// whoever is to believe its readings; and its introduction, MOTEMIX_INTRODUCTION_LEN bytes, which
// anybody may hand on.
motemix_status motemix_identity(const uint8_t *seed, uint8_t *identity, uint8_t *introduction);

// Signs one record for an audience: the name of a network or of a topic, NUL-terminated, which the
// verifier has to know as well. Writes the reading to `reading`, which has room for `room` bytes,
// and its length to `len`. MOTEMIX_DATA_LEN bytes are enough for any that fits a message.
//
// `number` must never have been used with this seed before, whatever happens: count in flash, and
// write the next number before this call.
motemix_status motemix_reading_sign(const uint8_t *seed,
                                    uint64_t number,
                                    uint8_t path,
                                    const char *audience,
                                    const struct motemix_record *record,
                                    uint8_t *reading,
                                    size_t room,
                                    size_t *len);

// Begins to believe a device, which shows its key in its introduction, of `len` bytes: from number
// `next` on, 0 for a new one. Compare `device->identity` with what the device's label says before
// anything of it is believed.
motemix_status motemix_device_new(struct motemix_device *device,
                                  const uint8_t *introduction,
                                  size_t len,
                                  uint64_t next);

// Checks a reading of `len` bytes of this device for an audience, and notes its number in
// `device`: keep that before the reading is used. Writes the number to `number`, and where the
// SenML lies, in CBOR inside `reading`, to `senml` and `senml_len`.
//
// MOTEMIX_STATUS_STRANGER: not of this device, or with a number more than 1,024 above the highest,
// or 64 below. MOTEMIX_STATUS_BAD_SIGNATURE, MOTEMIX_STATUS_REPLAYED,
// MOTEMIX_STATUS_NOT_A_READING: nothing is noted, and nothing written. Computes up to 1,089
// hashes, and two signatures at most.
motemix_status motemix_reading_verify(struct motemix_device *device,
                                      const char *audience,
                                      const uint8_t *reading,
                                      size_t len,
                                      uint64_t *number,
                                      const uint8_t **senml,
                                      size_t *senml_len);

// What a status means, and what to do about it. Never null; the text is constant.
const char *motemix_status_text(uint8_t status);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MOTEMIX_H */
