import NotifyWire

// Answers to a message of a durable subscription other than `acknowledge`.
extension NotificationClient.Message {
    /// Rejects the message: this delivery has failed. The message is delivered again after a delay, to any client of a
    /// group. After the last delivery that the subscription's settings permit, the message becomes a dead letter.
    ///
    /// As with ``acknowledge()``, this does not block, and has no effect on volatile subscriptions, on messages that
    /// are answered already, and after the subscription was left. It also has no effect once the message's deadline has
    /// passed, or if the connection is lost before the answer is sent. The message is then delivered again anyway, or
    /// becomes a dead letter if this was the last permitted delivery.
    ///
    /// - Parameters:
    ///   - delay: The time until the next delivery, at most 30 days; `nil` for the next of the settings' retry delays.
    ///   - reason: The reason of the failure, for the dead letter. At most 1,280 bytes are sent.
    public func reject(delay: Duration? = nil, reason: String = "") {
        batch.reject(index, .failed, delay: delay, reason: reason)
    }

    /// Gives the message back without counting this delivery as failed, for example if a resource that every message
    /// needs is missing. In all other respects it behaves as ``reject(delay:reason:)``.
    ///
    /// - Parameter delay: The time until the next delivery, at most 30 days; `nil` for the next of the settings' retry
    ///   delays.
    public func giveBack(delay: Duration? = nil) {
        batch.reject(index, .returned, delay: delay, reason: "")
    }

    /// Makes the message a dead letter, because no delivery of it can succeed. In all other respects it behaves as
    /// ``reject(delay:reason:)``.
    ///
    /// - Parameter reason: The reason of the failure. At most 1,280 bytes are sent.
    public func deadLetter(reason: String = "") {
        batch.reject(index, .dead, delay: nil, reason: reason)
    }

    /// Postpones the deadline before which the message must be answered.
    ///
    /// - Parameter duration: The time from now to the new deadline, at most 30 days; `nil` for the deadline of the
    ///   subscription's settings.
    public func extendDeadline(_ duration: Duration? = nil) {
        batch.extendDeadline(index, by: duration)
    }
}

extension NotificationClient.DecodedMessage {
    /// Rejects the message, as ``NotificationClient/Message/reject(delay:reason:)`` does.
    public func reject(delay: Duration? = nil, reason: String = "") { message.reject(delay: delay, reason: reason) }

    /// Gives the message back, as ``NotificationClient/Message/giveBack(delay:)`` does.
    public func giveBack(delay: Duration? = nil) { message.giveBack(delay: delay) }

    /// Makes the message a dead letter, as ``NotificationClient/Message/deadLetter(reason:)`` does.
    public func deadLetter(reason: String = "") { message.deadLetter(reason: reason) }
}
