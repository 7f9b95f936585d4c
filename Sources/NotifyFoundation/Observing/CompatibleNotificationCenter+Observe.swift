public import Foundation
import NotifyCenter

extension CompatibleNotificationCenter {
    /// Observes a name until the observer is removed.
    ///
    /// - Parameters:
    ///   - name: The name, or nil for every name.
    ///   - obj: The object that posts must have, or nil for posts with any object or without one. Instances of classes
    ///     are compared by identity and are not kept alive: when the object is released, the observation ends. Strings
    ///     are compared by their bytes, and other `Hashable` values of the same type with `==`. Values are copied, and
    ///     compared on the threads of posters, so `==` must not read state that another thread may change. Values that
    ///     are not `Hashable` are never equal. (Foundation on Linux boxes values and compares the boxes, which are
    ///     identical only for a few values, such as small integers.)
    ///   - queue: The queue on which the block runs, or nil for the thread of the poster. The queue is retained. `post`
    ///     returns after the block has run. If the poster is already on this queue, the block runs in place. If a
    ///     thread on this queue is itself in a post, which waits for the poster directly or through other posts, the
    ///     block runs on that thread. The block must not wait for the poster by other means. Operations of two serial
    ///     queues must not post to blocks on each other's queue at the same time: as with Foundation's center, they
    ///     would deadlock.
    ///   - block: Called for each post, possibly on several threads at once.
    /// - Returns: The token for ``removeObserver(_:)-(Any)``. Releasing the token does not remove the observer.
    public func addObserver(
        forName name: NSNotification.Name?, object obj: Any?, queue: OperationQueue?,
        using block: @Sendable @escaping (Notification) -> Void
    ) -> any NSObjectProtocol {
        let observation =
            if let queue {
                observe(name, object: obj) { activity, posted in
                    // The observer may have been removed while the block waited for the queue.
                    ReentrantQueueWait.run(on: queue) { if activity.isActive { block(posted.notification) } }
                }
            } else {
                center.observe(
                    names(name), object: obj.map { NotificationObject(ofObserver: $0) },
                    converting: { PostedNotification($0) }, using: { block($0.notification) })
            }
        return ObserverToken(observation)
    }

    /// Observes a name. If the body calls the observer later, it must first check that the observation is still active.
    func observe(
        _ name: NSNotification.Name?, object: Any?,
        using body: @escaping @Sendable (ObservationActivity, PostedNotification) throws -> Void
    ) -> ObservationHandle {
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

    /// Observes a name until the observer is released, with a closure that takes the observer. This method replaces
    /// Foundation's `addObserver(_:selector:name:object:)`, which requires the Objective-C runtime.
    ///
    /// ```swift
    /// center.addObserver(self, name: .didFollow, object: nil) { $0.didFollow($1) }
    /// ```
    ///
    /// - Parameters:
    ///   - observer: The observer, which is held weakly and need not be removed.
    ///   - name: The name, or nil for every name.
    ///   - object: The object that posts must have, as in ``addObserver(forName:object:queue:using:)``.
    ///   - fileID: The file of the call, for diagnostics.
    ///   - line: The line of the call, for diagnostics.
    ///   - body: Called on the threads of posters, possibly on several threads at once. The closure should use its
    ///     first parameter instead of capturing the observer.
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
    /// Removes an observer. All its observations end, including those registered with the underlying center.
    ///
    /// No call begins after this method returns, not even for a post in progress that waits for the observer's queue. A
    /// call that has begun on another thread may still run. Removing an observer that is not registered has no effect.
    ///
    /// - Parameter observer: The token returned by ``addObserver(forName:object:queue:using:)``, or the observer passed
    ///   to ``addObserver(_:name:object:fileID:line:using:)``.
    public func removeObserver(_ observer: Any) {
        removeObserver(observer, name: nil, object: nil)
    }

    /// Ends those observations of an observer that have the given name and the given object. Nil matches any name or
    /// object.
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
    let observation: ObservationHandle

    init(_ observation: ObservationHandle) {
        self.observation = observation
    }
}
