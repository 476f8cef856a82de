internal import Dispatch

extension CheckedContinuation where T: Sendable {
    /// Resumes from a thread that holds no lock, so that it may be called under any.
    ///
    /// The handlers of a task that is cancelled run while the runtime holds a lock of the task's own, and resuming the task takes
    /// that lock too. Were it resumed under a lock that such a handler, ours or the application's, waits for, both would wait
    /// for ever.
    func resumeUnlocked(returning value: T) {
        resuming.async { resume(returning: value) }
    }
}

/// Of our own: an application may block all threads of the system's queues on what comes here.
private let resuming = DispatchQueue(label: "geomatch.resuming")
