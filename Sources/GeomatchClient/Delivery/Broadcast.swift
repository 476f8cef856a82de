internal import Synchronization

/// One sender, any number of consumers, each with a mailbox of its own; a consumer that was let go is forgotten.
///
/// Its lock is innermost: nothing is called while it is held but the mailboxes, so it may be used under any other lock.
final class Broadcast<Element: Sendable, Failure: Error>: Sendable {
    private struct Consumer {
        weak var mailbox: Mailbox<Element, Failure>?
    }

    private let consumers = Mutex<[Consumer]>([])

    func add(_ mailbox: Mailbox<Element, Failure>) {
        consumers.withLock { consumers in
            consumers.removeAll { $0.mailbox == nil }
            consumers.append(Consumer(mailbox: mailbox))
        }
    }

    func send(_ element: Element) {
        for mailbox in mailboxes { mailbox.send(element) }
    }

    func finish(_ failure: Failure?) {
        let ended = mailboxes
        consumers.withLock { $0.removeAll() }
        for mailbox in ended { mailbox.finish(failure) }
    }

    private var mailboxes: [Mailbox<Element, Failure>] { consumers.withLock { $0.compactMap(\.mailbox) } }
}
