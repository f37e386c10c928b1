/*
 * Six motes get a network document and send to each other. MOTEMIX names the program `motemix`,
 * which signs the document; without it, the one on the PATH does.
 */
TIMEOUT(3600000, log.log(acknowledged + " of " + MESSAGES + " messages acknowledged\n"));

var NAMES = ["a", "b", "c", "d", "e", "f"];
var MESSAGES = 12;
var acknowledged = 0;

/* Types a line at a mote, and waits for the line with what is asked for. */
function ask(id, line, pattern) {
  write(sim.getMoteWithID(id), line);
  do {
    YIELD();
  } while(mote.getID() != id || (!pattern.test(msg) && !/error/.test(msg)));
  if(/error/.test(msg)) {
    log.log(NAMES[id - 1] + ": " + line + ": " + msg + "\n");
    log.testFailed();
  }
  return pattern.exec(msg);
}

function run(words) {
  var process = new java.lang.ProcessBuilder(words).inheritIO().start();
  if(process.waitFor() != 0) {
    log.log(words[0] + " " + words[1] + " failed\n");
    log.testFailed();
  }
}

/* Everybody has started. */
GENERATE_MSG(5000, "started");
YIELD_THEN_WAIT_UNTIL(msg.equals("started"));

var seconds = Math.floor(java.lang.System.currentTimeMillis() / 1000);
var epoch = Math.floor(seconds / 86400);
var folder = java.nio.file.Files.createTempDirectory("motes");
var words = [java.lang.System.getenv("MOTEMIX") || "motemix", "directory", "sign", String(folder)];
for(var id = 1; id <= NAMES.length; id++) {
  var told = ask(id, "motemix key " + epoch, /address (\S+) key ([0-9a-f]{64})/);
  words.push(NAMES[id - 1] + "=" + told[1] + "," + told[2]);
}
run(words);
var lines = java.nio.file.Files.readAllLines(folder.resolve("documents/" + epoch + ".txt"));
for(var id = 1; id <= NAMES.length; id++) {
  ask(id, "motemix time " + seconds, /ok/);
  for(var at = 0; at < lines.size(); at++) {
    ask(id, "motemix " + lines.get(at), /ok/);
  }
  ask(id, "motemix start", /ok/);
}
for(var count = 0; count < MESSAGES; count++) {
  var from = count % NAMES.length + 1;
  var to = (count + 1 + Math.floor(count / NAMES.length)) % NAMES.length;
  ask(from, "motemix send " + NAMES[to] + " reading " + count, /sent/);
  do {
    YIELD();
  } while(mote.getID() != from || !/acknowledged|discarded/.test(msg));
  log.log(NAMES[from - 1] + " to " + NAMES[to] + ": " + msg + "\n");
  if(/acknowledged/.test(msg)) {
    acknowledged++;
  }
}
log.log(acknowledged + " of " + MESSAGES + " messages acknowledged\n");
if(acknowledged == MESSAGES) {
  log.testOK();
}
log.testFailed();
