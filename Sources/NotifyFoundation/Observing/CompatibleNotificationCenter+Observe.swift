public import Foundation
import NotifyCenter

extension CompatibleNotificationCenter {
    /// Observes a name until the observer is removed.
    ///
    /// - Parameters:
    ///   - name: The name, or nil for every name.
    ///   - obj: The object that posts must have, or nil for posts with any object and with none. Instances of classes are
    ///     compared by identity and are not kept alive: when the object is gone, the observation ends. Other values are
    ///     compared with `==` if they are `Hashable` and of the same type, texts by their bytes; they are copied, and compared
    ///     on the threads of posters, so `==` must not read what another thread may change. Values that are not `Hashable` are
    ///     never equal. (Foundation boxes values, so that there an observer that asks for one is never called.)
    ///   - queue: Where the block runs, or nil for the thread of the poster. `post` returns when it has run. If the poster
    ///     is on this queue already, the block runs at once; if a post from this queue waits, directly or through others,
    ///     for the poster, it runs there. What it must not do is wait for the poster in other ways. Nor must operations of
    ///     two serial queues post to blocks on each other's queue at the same moment: each waits for the other's queue to
    ///     become free, for ever, as with Foundation's center. The queue is kept.
    ///   - block: Called for each post, so perhaps by several threads at once.
    /// - Returns: What ``removeObserver(_:)`` takes. Letting go of it removes nothing.
    public func addObserver(
        forName name: NSNotification.Name?, object obj: Any?, queue: OperationQueue?,
        using block: @Sendable @escaping (Notification) -> Void
    ) -> any NSObjectProtocol {
        let object = obj.map { NotificationObject(ofObserver: $0) }
        let body: @Sendable (PostedNotification) -> Void =
            if let queue {
                { posted in Hop.run(on: queue) { block(posted.notification) } }
            } else {
                { posted in block(posted.notification) }
            }
        return ObserverToken(
            center.observe(names(name), object: object, converting: { PostedNotification($0) }, using: body))
    }

    /// The name, or every name if it is nil.
    private func names(_ name: NSNotification.Name?) -> ObservedNames {
        if let name {
            NotificationName(unchecked: name.rawValue).observedNames
        } else {
            NamePattern.everyName.observedNames
        }
    }

    /// Makes a method of the main actor ambiguous, and so refused: the name of a method alone says nothing of its actor, and
    /// the other way of observing would take it and call it on any thread. One that is marked as unavailable would not be
    /// considered.
    ///
    /// It has to come before the other way: where a name is made with `.init`, the compiler prefers the later of the two.
    @available(*, deprecated, message: "methods of the main actor cannot run on posters' threads; use a block")
    public func addObserver<MainActorObserver: AnyObject & Sendable>(
        _ observer: MainActorObserver,
        calling methodOfMainActor:
            @escaping @MainActor @Sendable (MainActorObserver) -> @MainActor (Notification) -> Void,
        name: NSNotification.Name?, object: Any?, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        preconditionFailure("methods of the main actor cannot run on posters' threads; use a block")
    }

    /// Observes a name with a method, for as long as the observer lives. This stands for Foundation's
    /// `addObserver(_:selector:name:object:)`, which needs the Objective-C runtime.
    ///
    /// ```swift
    /// center.addObserver(self, calling: Controller.didFollow, name: .didFollow, object: nil)
    /// ```
    ///
    /// - Parameters:
    ///   - observer: Whose method it is. It is held weakly and needs no removal.
    ///   - method: The method, as it is named in the type. It is called on the threads of posters, so it must belong to no
    ///     actor. The compiler refuses methods of the main actor as ambiguous, and those of an actor's instances; it cannot
    ///     tell those of other global actors. Such code observes with a block, and `queue: .main` or one that starts a task.
    ///   - name: The name, or nil for every name.
    ///   - object: As in ``addObserver(forName:object:queue:using:)``.
    ///   - fileID: Where this is written, for diagnostics.
    ///   - line: Where this is written, for diagnostics.
    public func addObserver<Observer: AnyObject & Sendable>(
        _ observer: Observer, calling method: @escaping @Sendable (Observer) -> (Notification) -> Void,
        name: NSNotification.Name?, object: Any?, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        let object = object.map { NotificationObject(ofObserver: $0) }
        let body: @Sendable (Observer, PostedNotification) -> Void = { method($0)($1.notification) }
        _ = center.observe(
            names(name), object: object, owner: observer, converting: { PostedNotification($0) }, fileID: fileID,
            line: line, using: body)
    }
}

extension CompatibleNotificationCenter {
    /// Removes an observer: what ``addObserver(forName:object:queue:using:)`` returned, or one whose methods are called, in
    /// which case it observes nothing any more, here and in the center beneath.
    ///
    /// It is not called for posts in progress either, save for calls that have begun on another thread. Removing what is not
    /// registered here, or not any more, does nothing.
    public func removeObserver(_ observer: Any) {
        removeObserver(observer, name: nil, object: nil)
    }

    /// Removes an observer from this name, if a name is given, and from this object, if one is given.
    public func removeObserver(_ observer: Any, name aName: NSNotification.Name?, object: Any?) {
        let name = aName.map { NotificationName(unchecked: $0.rawValue) }
        let object = object.map { NotificationObject(ofObserver: $0) }
        if let token = observer as? ObserverToken {
            token.observation.cancel(in: center, name: name, object: object)
        } else if type(of: observer) is AnyClass {
            center.removeObservations(of: observer as AnyObject, observing: name?.observedNames, object: object)
        }
    }
}

/// What stands for an observer that is a block.
private final class ObserverToken: NSObject, Sendable {
    let observation: Observation

    init(_ observation: Observation) {
        self.observation = observation
    }
}
