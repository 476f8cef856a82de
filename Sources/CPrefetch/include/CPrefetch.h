#ifndef GEOMATCH_CPREFETCH_H
#define GEOMATCH_CPREFETCH_H

// Swift has no prefetch; a chain of cache misses is what an update of a large set costs.
static inline void geomatch_prefetch(const void *address) {
    __builtin_prefetch(address, 0, 3);
}

#endif
