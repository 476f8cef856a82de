#if os(Linux)
    import Glibc
#endif

enum ThreadPriority {
    /// Where the cores are busy, this thread runs when those that decide and commit leave some time.
    static func giveWay() {
        #if os(Linux)
            // On Linux the priority is of the thread alone.
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
        #endif
    }
}
