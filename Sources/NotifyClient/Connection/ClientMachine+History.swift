import NotifyWire

/// Pages of the log.
extension ClientMachine {
    /// Handles the header of a page. The messages of the page follow.
    mutating func pageBegan(
        _ frame: FrameDecoder.Frame, now: () -> Duration, _ effects: inout Effects
    ) throws(WireError) {
        try replyReceived(frame, now: now, &effects)
        router.begin(try LogPage(frame))
    }

    mutating func pageReceived(_ request: UInt64, _ batch: MessageBatch, _ effects: inout Effects) {
        let isComplete = requests.update(request) { $0.updateCall { $0.received(batch, &effects) } ?? false }
        if isComplete == true { _ = requests.take(request) }
    }

    /// Ends a request that waits at the end of the log, because its caller has stopped waiting. The daemon then answers
    /// the request.
    mutating func endRead(answering slot: AnyObject) {
        let request = requests.firstRequest { entry in
            if case .call(let call) = entry { call.waiter === slot && call.awaitsMessages } else { false }
        }
        if let request, connection.isReady { EndRead(request: request).write(to: &outgoing) }
    }
}
