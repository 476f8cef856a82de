#include <zlib.h>
/* `inflateInit2` is a macro, which Swift does not see. */
static inline int geomatch_inflate_begin(z_stream *stream) { return inflateInit2(stream, -MAX_WBITS); }
