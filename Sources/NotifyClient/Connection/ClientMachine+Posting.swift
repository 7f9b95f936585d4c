import NIOCore
import NotifyWire

extension ClientMachine {
    /// Sends a post of the program, or queues it if there is no connection or no room for it.
    mutating func submit(
        _ message: consuming NotificationClient.OutgoingMessage, _ waiter: PostWaiter,
        now: @autoclosure () -> Duration, _ effects: inout Effects
    ) {
        if let refusal {
            effects.outcomes.append(waiter, .failure(refusal))
        } else if posts.isEmpty, maySend(wantsReceipt: waiter.wantsReceipt) {
            send(message, waiter, &effects)
            if waiter.wantsReceipt { requestAdded(now: now()) }
        } else {
            guard connection.isReady || !waiter.isShutDown else {
                return effects.outcomes.append(waiter, .failure(.shutDown))
            }
            posts.append(message, waiter, deadline: connection.isReady ? nil : now() + settings.connectionWait)
            if connection.isReady { requestAdded(now: now()) }
        }
        if let timeout = waiter.timeout, let slot = waiter.slot { timeouts.add(.request(slot), until: now() + timeout) }
    }

    /// Notes that a pipeline has staged posts. If no bytes can be written, they are submitted at once, so that their
    /// time limits begin.
    mutating func announce(_ buffer: PipelineBuffer, now: @autoclosure () -> Duration, _ effects: inout Effects) {
        announcedPipelines.append(buffer)
        if isBlocked || !connection.isReady { submitStaged(now: now(), &effects) }
    }

    /// Submits the staged posts of pipelines. Must be called before each event, so that posts and other requests of a
    /// task keep their order.
    @inline(__always)
    mutating func submitStaged(now: @autoclosure () -> Duration, _ effects: inout Effects) {
        guard !announcedPipelines.isEmpty else { return }
        submitAnnounced(now: now(), &effects)
    }

    private mutating func submitAnnounced(now: @autoclosure () -> Duration, _ effects: inout Effects) {
        for buffer in announcedPipelines {
            var staged = buffer.takeStaged()
            guard let last = staged.last?.index else { continue }
            // Moved out of the array, because a copy of a message would retain each of its parts.
            staged.reverse()
            while let post = staged.popLast() {
                submit(post.message, .pipeline(buffer, index: post.index), now: now(), &effects)
            }
            if let timeout = buffer.timeout { limit(buffer, before: last + 1, until: now() + timeout) }
        }
        announcedPipelines.removeAll(keepingCapacity: true)
    }

    /// Adds a time limit for the posts of a pipeline before an index.
    mutating func limit(_ buffer: PipelineBuffer, before end: UInt64, until deadline: Duration) {
        timeouts.add(.posts(of: buffer, before: end), until: deadline)
    }

    private func maySend(wantsReceipt: Bool) -> Bool {
        connection.isReady && outgoing.readableBytes < Self.outgoingBytes
            && (!wantsReceipt || posts.inFlight < posts.window)
    }

    private mutating func send(
        _ message: consuming NotificationClient.OutgoingMessage, _ waiter: PostWaiter, _ effects: inout Effects
    ) {
        guard message.payload.count <= daemonInfo.maximumPayloadBytes else {
            let error = NotifyError.payloadTooLarge(
                bytes: message.payload.count, limit: daemonInfo.maximumPayloadBytes)
            effects.outcomes.append(waiter, .failure(error))
            return
        }
        if case .sender(let slot) = waiter {
            message.append(request: requests.skip(), wantsReceipt: false, to: &outgoing)
            effects.answer(slot, .success(()))
        } else {
            posts.inFlight += 1
            message.append(request: requests.nextRequest, wantsReceipt: true, to: &outgoing)
            _ = requests.append(.post(message, waiter))
        }
    }

    /// Sends waiting posts while there is room.
    mutating func sendWaitingPosts(_ effects: inout Effects) {
        while maySend(wantsReceipt: posts.firstWantsReceipt), let next = posts.popFirst() {
            send(next.message, next.waiter, &effects)
        }
    }

    mutating func receiptReceived(_ receipt: NotifyWire.Receipt, _ effects: inout Effects) throws(WireError) {
        let entry = try takeRequest(receipt.request)
        posts.inFlight -= 1
        switch consume entry {
        case .post(_, let waiter): effects.outcomes.append(waiter, .success(NotificationClient.Receipt(receipt)))
        case .abandonedPost: return
        default: throw .unexpected
        }
    }

    /// Cancels a post whose task was cancelled. A queued post is not sent.
    ///
    /// - Returns: The error for the caller. Its message says whether the post was already sent.
    mutating func cancelPost(_ slot: AnyObject) -> NotifyError {
        posts.cancel(slot) ? .cancelled : .cancelledInFlight
    }
}
