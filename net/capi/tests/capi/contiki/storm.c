/*
 * A socket that is never empty, once it was told so with "junk" or "data": then it always has
 * another datagram, of no frame or of one that asks for no acknowledgement.
 */

#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

ssize_t __real_recv(int fd, void *buffer, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *buffer, size_t len, int flags);

ssize_t
__wrap_recv(int fd, void *buffer, size_t len, int flags)
{
  static const unsigned char head[] = { 'E', 'X', 2, 1, 26 };
  static char kind;
  unsigned char *bytes = buffer;
  ssize_t received = __real_recv(fd, buffer, len, flags);

  if(received == 4) {
    kind = (char)bytes[0];
  }
  if(received >= 0 || kind == 0) {
    return received;
  }
  memset(bytes, 0, 40);
  if(kind == 'd') {
    memcpy(bytes, head, sizeof(head));
    bytes[31] = 8;
    bytes[32] = 0x41;
    bytes[33] = 0xdc;
  }
  return 40;
}
