// The start and the end of the client. These methods may be called from any thread.
extension ClientCore {
    func start() {
        if Fork.isChild { return }
        process { $0.start(&$1) }
    }

    func stop() {
        if Fork.isChild { return }
        process { $0.stop(now: clock.now, &$1) }
    }

    func shutDownGracefully() {
        if Fork.isChild { return }
        process { $0.shutDownGracefully(now: clock.now, &$1) }
    }

    /// Waits for the end of the client.
    ///
    /// - Throws: The error that ended the client, if any.
    func waitForEnd() async throws(NotifyError) {
        if Fork.isChild { throw .forked }
        let slot = ReplySlot<Void>()
        process { $0.awaitEnd(slot, &$1) }
        try await slot.wait {}
    }

    /// Waits for the end of the client's service: for the end of the client or, in a graceful shutdown with open
    /// subscriptions, for the answers to the requests sent before it.
    ///
    /// - Parameter onCancel: Called if the task is cancelled. Must end the client.
    /// - Throws: The error that ended the client, if any.
    func waitForServiceEnd(onCancel: @escaping @Sendable () -> Void) async throws(NotifyError) {
        if Fork.isChild { throw .forked }
        let slot = ReplySlot<Void>()
        process { $0.awaitServiceEnd(slot, now: clock.now, &$1) }
        try await slot.wait(onCancel: onCancel)
    }
}
