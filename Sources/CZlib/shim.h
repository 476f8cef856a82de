#include <zlib.h>
/* `inflateInit2` is a macro, which Swift does not see. */
static inline int geomatch_inflate_begin(z_stream *stream) { return inflateInit2(stream, -MAX_WBITS); }
/* With gzip's head and sum. */
static inline int geomatch_gzip_begin(z_stream *stream) {
    return deflateInit2(stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 9, Z_DEFAULT_STRATEGY);
}
