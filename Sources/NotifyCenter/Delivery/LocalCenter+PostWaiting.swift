extension LocalCenter {
    /// Posts a notification, and waits until every observer and reader with ``Buffering/wait(limit:)`` has buffered the
    /// notification. Otherwise this behaves like ``post(_:object:payload:)-(NotificationName,_,_)``.
    ///
    /// Observers on the poster's thread are called before the wait. A full buffer delays only the poster. The post does
    /// not wait until buffered observers have run.
    ///
    /// If the task is cancelled, the post returns soon. Notifications that are not buffered by then are dropped and
    /// counted. A post also drops a notification instead of waiting if the wait might never end:
    ///
    /// - An observer that posts during its call, or in a task created by the call, does not wait for room in its own
    ///   buffer. Nor does it wait for another observer whose own post waits for room in the first observer's buffer.
    /// - A post by the reader of a sequence between two reads does not wait for room in this sequence.
    ///
    /// Readers that post to each other's full sequences wait for each other until one of them is cancelled.
    ///
    /// - Parameters:
    ///   - name: The name of the notification.
    ///   - object: The object that the notification concerns.
    ///   - payload: Passed to the observers unchanged.
    ///   - count: The number of values of this name and object to keep, including this notification, as with
    ///     ``setValue(_:for:object:last:)-(_,NotificationName,_,_)``. 0 to set no value.
    nonisolated(nonsending) public func postWaiting(
        _ name: NotificationName, object: NotificationObject? = nil, payload: (any Sendable)? = nil,
        asValues count: Int = 0
    ) async {
        await postWaiting(LocalNotification(name: name, object: object, payload: payload), asValues: count)
    }

    /// Checks the name, posts a notification and waits for room. See
    /// ``postWaiting(_:object:payload:asValues:)-(NotificationName,_,_,_)``.
    ///
    /// - Throws: ``NameError`` if the name is not valid.
    nonisolated(nonsending) public func postWaiting(
        _ name: String, object: NotificationObject? = nil, payload: (any Sendable)? = nil, asValues count: Int = 0
    ) async throws(NameError) {
        await postWaiting(try NotificationName(name), object: object, payload: payload, asValues: count)
    }

    /// Posts a message and waits for room. See ``postWaiting(_:object:payload:asValues:)-(NotificationName,_,_,_)``.
    nonisolated(nonsending) public func postWaiting<Message: NotificationMessage>(
        _ message: Message, object: NotificationObject? = nil, asValues count: Int = 0
    ) async {
        await postWaiting(LocalNotification(message, object: object), asValues: count)
    }

    /// Posts a notification and waits for room. See
    /// ``postWaiting(_:object:payload:asValues:)-(NotificationName,_,_,_)``.
    nonisolated(nonsending) public func postWaiting(_ notification: LocalNotification, asValues count: Int = 0) async {
        let post = WaitingPost()
        intercepted(notification) { notification in
            let list =
                if count > 0 {
                    storeValue(notification, last: count)
                } else {
                    observers(of: notification.name, object: notification.object)
                }
            reportIfUnobserved(notification, by: list)
            for observer in list?.observers ?? [] { observer.deliver(notification, for: post, in: self) }
        }
        await post.wait()
    }
}

extension Observer {
    /// Calls the observer, or adds the notification to its buffer, unless its state or options forbid the delivery.
    fileprivate func deliver(_ notification: LocalNotification, for post: WaitingPost, in center: LocalCenter) {
        guard let queue else { return deliver(notification, in: center) }
        callIfAllowed(notification, object: notification.object, in: center) { _ in queue.put(notification, for: post) }
    }
}
