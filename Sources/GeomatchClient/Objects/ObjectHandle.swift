internal import Synchronization

/// An object on its way: creating, then created or failed; and, where it is deleted, deleting, then deleted or failed.
///
/// ```swift
/// let handle = client.publications.create(draft)
/// for await state in handle.states { show(state) }     // creating, created
/// let publication = try await handle.value
/// ```
///
/// The work goes on without the handle too; letting it go cancels nothing.
public final class ObjectHandle<Object: GeomatchObject>: Sendable {
    /// How far the object has come, from its creation to its deletion.
    public enum State: Sendable {
        case creating
        case created(Object)
        /// It was not created; or not deleted, and then still exists.
        case failed(GeomatchError)
        case deleting
        case deleted
    }

    fileprivate struct Progress {
        var state = State.creating
        var object: Object?
        var observers: [Mailbox<State, Never>] = []
        var creation: Task<Object, any Error>?
        var deletion: Task<Void, any Error>?
    }

    private let client: GeomatchClient
    private let progress: Mutex<Progress>

    init(_ client: GeomatchClient, _ create: @escaping @Sendable (GeomatchClient) async throws(GeomatchError) -> Object) {
        self.client = client
        progress = Mutex(Progress())
        // A free task: creating goes on whether or not somebody waits for it.
        let task = Task { [self] in
            do throws(GeomatchError) {
                let object = try await create(client)
                move(to: .created(object)) { $0.object = object }
                return object
            } catch {
                move(to: .failed(error))
                throw error
            }
        }
        progress.withLock { $0.creation = task }
    }

    init(_ client: GeomatchClient, _ object: Object) {
        self.client = client
        progress = Mutex(Progress(state: .created(object), object: object))
    }

    public var state: State { progress.withLock { $0.state } }

    /// The present state and every change of it; ends when nothing can follow: deleted, or failed to be created.
    public var states: BufferedSequence<State, Never> {
        let mailbox = Mailbox<State, Never>(capacity: 64)
        progress.withLock { progress in
            mailbox.send(progress.state)
            if progress.isFinal { mailbox.finish(nil) } else { progress.observers.append(mailbox) }
        }
        return BufferedSequence(mailbox: mailbox)
    }

    /// The object, as soon as it is created; also after it was deleted.
    ///
    /// - Throws: Why it could not be created. Cancelling the waiting task does not cancel the creating.
    public var value: Object {
        get async throws(GeomatchError) {
            let (object, creation) = progress.withLock { ($0.object, $0.creation) }
            if let object { return object }
            guard let creation else { throw .closed }
            do { return try await creation.value } catch { throw error as? GeomatchError ?? .cancelled }
        }
    }

    /// Deletes the object, once it is created, and returns when it is gone. Several calls delete once; after a failure,
    /// another call tries again.
    public func delete() async throws(GeomatchError) {
        _ = try await value
        let deletion = progress.withLock { progress in
            if let deletion = progress.deletion { return deletion }
            // A free task: several may wait for it.
            let task = Task { try await self.carryOutDeletion() }
            progress.deletion = task
            return task
        }
        do { try await deletion.value } catch { throw error as? GeomatchError ?? .cancelled }
    }

    private func carryOutDeletion() async throws(GeomatchError) {
        let object = try await value
        move(to: .deleting)
        do throws(GeomatchError) {
            try await ObjectCollection<Object>(client: client).delete(object.id)
        } catch  where error.kind == .notFound {
            // Gone already, which is what was wanted.
        } catch {
            move(to: .failed(error)) { $0.deletion = nil }
            throw error
        }
        move(to: .deleted)
    }

    private func move(to state: State, _ change: (inout Progress) -> Void = { _ in }) {
        progress.withLock { progress in
            progress.state = state
            change(&progress)
            for observer in progress.observers { observer.send(state) }
            guard progress.isFinal else { return }
            for observer in progress.observers { observer.finish(nil) }
            progress.observers.removeAll()
        }
    }
}

extension ObjectHandle.Progress {
    fileprivate var isFinal: Bool {
        switch state {
        case .deleted: true
        case .failed: object == nil
        case .creating, .created, .deleting: false
        }
    }
}
