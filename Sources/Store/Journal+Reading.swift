import Foundation
import Records

// The journal's reading threads. One client may ask for long pages without end, so the thread that reads those leaves the cores to those
// that decide and commit where there are too few. What others wait for, too, is read by a thread that does not.

extension Journal {
    /// The reads that were asked for, and what lies uncollected of those that were answered.
    struct Questions {
        typealias Query = @Sendable (any DurableStore) throws -> StoreAnswer

        /// Reading pauses from so many uncollected answers on, or from so many bytes on.
        static let answersMax = 64
        static let bytesMax = 16 << 20

        private var waiting: [(token: UInt64, query: Query)] = []
        private var head = 0
        private var answers = 0
        private var bytes = 0

        mutating func append(_ token: UInt64, _ query: @escaping Query) { waiting.append((token, query)) }

        mutating func next() -> (token: UInt64, query: Query)? {
            guard areWaiting, answers < Self.answersMax, bytes < Self.bytesMax else { return nil }
            defer {
                head += 1
                if head == waiting.count || head > 1024 {
                    waiting.removeFirst(head)
                    head = 0
                }
            }
            return waiting[head]
        }

        /// Some were not begun to be answered.
        var areWaiting: Bool { head < waiting.count }

        mutating func wasAnswered(_ answer: StoreAnswer) {
            answers += 1
            bytes += answer.bytes
        }

        mutating func answersWereCollected() { (answers, bytes) = (0, 0) }
    }

    /// Answers one query after the other, of one kind, until the journal is closed.
    func read(isForAll: Bool) {
        #if os(Linux)
            // On Linux the priority is the thread's own.
            if !isForAll { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10) }
        #endif
        while let (token, query) = awaitQuestion(isForAll: isForAll) {
            let answer = (try? query(store)) ?? .failed
            gate.locked {
                shared.completions.append(.answer(token, answer))
                shared[isForAll: isForAll].wasAnswered(answer)
            }
            wake()
        }
        gate.locked {
            shared.readers -= 1
            gate.signal(.settled)
        }
    }

    /// - Returns: nil when the thread is to end.
    private func awaitQuestion(isForAll: Bool) -> (token: UInt64, query: Questions.Query)? {
        gate.locked {
            while true {
                if let next = shared[isForAll: isForAll].next() { return next }
                if shared.isClosing { return nil }
                gate.wait(for: isForAll ? .askedForAll : .asked, until: nil)
            }
        }
    }
}

extension Journal.Shared {
    subscript(isForAll isForAll: Bool) -> Journal.Questions {
        get { isForAll ? questionsForAll : questions }
        _modify {
            if isForAll { yield &questionsForAll } else { yield &questions }
        }
    }
}
