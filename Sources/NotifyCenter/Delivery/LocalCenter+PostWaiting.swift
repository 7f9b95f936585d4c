extension LocalCenter {
    /// Calls everybody who observes the name, and waits until there is room for the notification wherever it has to wait for
    /// an observer or a reader with ``Buffering/wait(limit:)``. Everything else is as with
    /// ``post(_:object:payload:)-(NotificationName,_,_)``: observers that run on the poster's thread are called before
    /// anything is waited for, and a full mailbox holds nobody up but the poster. It does not wait until observers elsewhere
    /// have run.
    ///
    /// If the task is cancelled, it returns soon; what found no room by then is dropped and counted. So is what might wait for
    /// ever: what is posted in the call of an observer, or in a task that it began, does not wait for room before this
    /// observer, nor before one that itself waits for this one; and what the reader of a sequence posts between two reads
    /// does not wait for room in this sequence. Readers that post to each other's full sequences do wait for each other, until
    /// one of them is cancelled.
    ///
    /// - Parameters:
    ///   - name: What the notification is about.
    ///   - object: What it concerns.
    ///   - payload: Handed to the observers as it is.
    ///   - retained: Whether it stays for those who observe later. See ``postRetained(_:object:payload:)-(NotificationName,_,_)``.
    nonisolated(nonsending) public func postWaiting(
        _ name: NotificationName, object: NotificationObject? = nil, payload: (any Sendable)? = nil,
        retained: Bool = false
    ) async {
        await postWaiting(LocalNotification(name: name, object: object, payload: payload), retained: retained)
    }

    /// Posts by name and waits for room.
    ///
    /// - Throws: ``NameError`` if the name breaks a rule.
    nonisolated(nonsending) public func postWaiting(
        _ name: String, object: NotificationObject? = nil, payload: (any Sendable)? = nil, retained: Bool = false
    ) async throws(NameError) {
        await postWaiting(try NotificationName(name), object: object, payload: payload, retained: retained)
    }

    /// Posts a message and waits for room. See ``postWaiting(_:object:payload:retained:)-(NotificationName,_,_,_)``.
    nonisolated(nonsending) public func postWaiting<Message: NotificationMessage>(
        _ message: Message, retained: Bool = false
    ) async {
        await postWaiting(
            LocalNotification(
                name: Message.notificationName, object: message.notificationObject, payload: message),
            retained: retained)
    }

    /// Posts a notification and waits for room. See ``postWaiting(_:object:payload:retained:)-(NotificationName,_,_,_)``.
    nonisolated(nonsending) public func postWaiting(_ notification: LocalNotification, retained: Bool = false) async {
        let post = WaitingPost()
        intercepted(notification) { notification in
            let list =
                if retained {
                    storeRetained(notification)
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
    /// Calls the observer if it is its turn, or has the notification wait for it.
    fileprivate func deliver(_ notification: LocalNotification, for post: WaitingPost, in center: LocalCenter) {
        guard let queue else { return deliver(notification, in: center) }
        withTurn(notification, object: notification.object, in: center) { _ in queue.put(notification, for: post) }
    }
}
