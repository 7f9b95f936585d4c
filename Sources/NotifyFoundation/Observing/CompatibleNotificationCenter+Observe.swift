public import Foundation
import NotifyCenter

extension CompatibleNotificationCenter {
    /// Observes a name until the observer is removed.
    ///
    /// - Parameters:
    ///   - name: The name, or nil for every name.
    ///   - obj: The object that posts must have, or nil for posts with any object and with none. Instances of classes
    ///     are compared by identity and are not kept alive: when the object is released, the observation ends. Other
    ///     values are compared with `==` if they are `Hashable` and of the same type, strings by their bytes; they are
    ///     copied, and compared on the threads of posters, so `==` must not read what another thread may change. Values
    ///     that are not `Hashable` are never equal. (Foundation on Linux compares the instances that it boxes values
    ///     in, which are the same for few values, such as small integers.)
    ///   - queue: Where the block runs, or nil for the thread of the poster. `post` returns when it has run. If the
    ///     poster is on this queue already, the block runs at once; if a post from this queue waits, directly or
    ///     through others, for the poster, it runs there. The block must not wait for the poster in other ways. Nor
    ///     must operations of two serial queues post to blocks on each other's queue at the same moment: each waits for
    ///     the other's queue to become free, for ever, as with Foundation's center. The queue is kept.
    ///   - block: Called for each post, so perhaps by several threads at once.
    /// - Returns: The token for ``removeObserver(_:)-(Any)``. Releasing it does not remove the observer.
    public func addObserver(
        forName name: NSNotification.Name?, object obj: Any?, queue: OperationQueue?,
        using block: @Sendable @escaping (Notification) -> Void
    ) -> any NSObjectProtocol {
        let observation =
            if let queue {
                observe(name, object: obj) { activity, posted in
                    // It may have been removed while this waited for the queue.
                    ReentrantQueueWait.run(on: queue) { if activity.isActive { block(posted.notification) } }
                }
            } else {
                center.observe(
                    names(name), object: obj.map { NotificationObject(ofObserver: $0) },
                    converting: { PostedNotification($0) }, using: { block($0.notification) })
            }
        return ObserverToken(observation)
    }

    /// Observes a name with a body that calls the observer later, if the observation is still active then.
    func observe(
        _ name: NSNotification.Name?, object: Any?,
        using body: @escaping @Sendable (ObservationActivity, PostedNotification) throws -> Void
    ) -> Observation {
        let activity = ObservationActivity()
        let observation = center.observe(
            names(name), object: object.map { NotificationObject(ofObserver: $0) },
            converting: { PostedNotification($0) }, using: { try body(activity, $0) })
        activity.set(observation)
        return observation
    }

    /// The name, or every name if it is nil.
    private func names(_ name: NSNotification.Name?) -> ObservedNames {
        if let name { NotificationName(name).observedNames } else { NamePattern.everyName.observedNames }
    }

    /// Observes a name with a closure that is passed the observer, until the observer is released. This stands for
    /// Foundation's `addObserver(_:selector:name:object:)`, which needs the Objective-C runtime.
    ///
    /// ```swift
    /// center.addObserver(self, name: .didFollow, object: nil) { $0.didFollow($1) }
    /// ```
    ///
    /// - Parameters:
    ///   - observer: Is held weakly and needs no removal.
    ///   - name: The name, or nil for every name.
    ///   - object: As in ``addObserver(forName:object:queue:using:)``.
    ///   - fileID: Where this is written, for diagnostics.
    ///   - line: Where this is written, for diagnostics.
    ///   - body: Called on the threads of posters, so perhaps by several at once. It should use the observer that it is
    ///     passed and not capture it.
    public func addObserver<Observer: AnyObject & Sendable>(
        _ observer: Observer, name: NSNotification.Name?, object: Any?, fileID: StaticString = #fileID,
        line: UInt = #line, using body: @escaping @Sendable (Observer, Notification) -> Void
    ) {
        let object = object.map { NotificationObject(ofObserver: $0) }
        _ = center.observe(
            names(name), object: object, owner: observer, converting: { PostedNotification($0) }, fileID: fileID,
            line: line, using: { body($0, $1.notification) })
    }
}

extension CompatibleNotificationCenter {
    /// Removes an observer: what ``addObserver(forName:object:queue:using:)`` returned, or what was passed to
    /// ``addObserver(_:name:object:fileID:line:using:)``. All its observations end, here and in the underlying center.
    ///
    /// No call begins after this has returned, also none of a post in progress that waits for the observer's queue; a
    /// call that has begun on another thread may still run. Removing what is not registered here, or not any more, does
    /// nothing.
    public func removeObserver(_ observer: Any) {
        removeObserver(observer, name: nil, object: nil)
    }

    /// Removes an observer from this name, if a name is given, and from this object, if one is given.
    public func removeObserver(_ observer: Any, name aName: NSNotification.Name?, object: Any?) {
        let name = aName.map { NotificationName($0) }
        let object = object.map { NotificationObject(ofObserver: $0) }
        if let token = observer as? ObserverToken {
            token.observation.cancel(in: center, name: name, object: object)
        } else if type(of: observer) is AnyClass {
            center.removeObservations(of: observer as AnyObject, observing: name?.observedNames, object: object)
        }
    }
}

/// The token of an observer with a block.
private final class ObserverToken: NSObject, Sendable {
    let observation: Observation

    init(_ observation: Observation) {
        self.observation = observation
    }
}
