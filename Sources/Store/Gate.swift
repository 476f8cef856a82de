import Foundation

/// A mutex with conditions that waits on the monotonic clock: Foundation's waits on the wall clock, and a corrected clock would
/// make a retry hours late.
///
/// `@unchecked Sendable`: what it points to is made and destroyed with it, and is only passed to pthread functions, which are made for
/// use from several threads.
final class Gate: @unchecked Sendable {
    enum Condition {
        /// Something came in for the writing thread.
        case arrived
        /// Something came in for the thread that reads, or what it answered was collected.
        case asked
        /// The same for the thread that reads what others wait for, too.
        case askedForAll
        /// A thread ended, for which a caller waits.
        case settled
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let arrived = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let asked = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let askedForAll = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let settled = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        #if os(Linux)
            pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        #endif
        for condition in [arrived, asked, askedForAll, settled] { pthread_cond_init(condition, &attributes) }
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        for condition in [arrived, asked, askedForAll, settled] {
            pthread_cond_destroy(condition)
            condition.deallocate()
        }
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Keep the body short, and never call out of it.
    func locked<Value>(_ body: () throws -> Value) rethrows -> Value {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body()
    }

    /// Only while locked, which it gives up while it waits. Returns also when nothing happened.
    ///
    /// - Parameter deadline: Seconds of ``now()``; nil waits for ever.
    func wait(for condition: Condition, until deadline: Double?) {
        let target = pointer(condition)
        guard let deadline else {
            pthread_cond_wait(target, mutex)
            return
        }
        #if os(Linux)
            var time = Self.timespec(seconds: deadline)
            pthread_cond_timedwait(target, mutex, &time)
        #else
            var time = Self.timespec(seconds: deadline - Self.now())
            pthread_cond_timedwait_relative_np(target, mutex, &time)
        #endif
    }

    func signal(_ condition: Condition) {
        pthread_cond_broadcast(pointer(condition))
    }

    /// Seconds of a clock that only goes forward.
    static func now() -> Double {
        var time = Foundation.timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Brought between 0 and a century, so that any number of seconds is a time.
    private static func timespec(seconds: Double) -> Foundation.timespec {
        let seconds = min(max(seconds, 0), 4e9)
        let whole = seconds.rounded(.down)
        return Foundation.timespec(tv_sec: Int(whole), tv_nsec: Int((seconds - whole) * 1e9))
    }

    private func pointer(_ condition: Condition) -> UnsafeMutablePointer<pthread_cond_t> {
        switch condition {
        case .arrived: arrived
        case .asked: asked
        case .askedForAll: askedForAll
        case .settled: settled
        }
    }
}
