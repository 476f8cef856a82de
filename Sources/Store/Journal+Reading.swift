import Records

// The journal's reading thread: one query at a time, on a connection of its own.

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

    func read() {
        while let (token, query) = awaitQuestion() {
            let answer = (try? query(store)) ?? .failed
            gate.locked {
                shared.completions.append(.answer(token, answer))
                shared.questions.wasAnswered(answer)
            }
            wake()
        }
        gate.locked {
            shared.isReading = false
            gate.signal(.settled)
        }
    }

    /// - Returns: nil when the thread is to end.
    private func awaitQuestion() -> (token: UInt64, query: Questions.Query)? {
        gate.locked {
            while true {
                if let next = shared.questions.next() { return next }
                if shared.isClosing { return nil }
                gate.wait(for: .asked, until: nil)
            }
        }
    }
}
