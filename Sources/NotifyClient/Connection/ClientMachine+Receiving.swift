import NIOCore
import NotifyWire

extension ClientMachine {
    /// Processes received bytes, without keeping them.
    ///
    /// - Returns: The number of bytes consumed. The rest is an incomplete frame, which must be passed again with the
    ///   next read.
    mutating func received(_ bytes: UnsafeRawBufferPointer, now: () -> Duration, _ effects: inout Effects) -> Int {
        let decoder = FrameDecoder(maximumBodyBytes: daemonInfo.maximumPayloadBytes + Limits.frameOverheadBytes)
        var used = 0
        do throws(WireError) {
            while !connection.discardsInput,
                let frame = try decoder.next(in: UnsafeRawBufferPointer(rebasing: bytes[used...]))
            {
                try frameReceived(frame, at: used, in: bytes, now: now, &effects)
                used += frame.size
            }
            takeStaged(from: bytes, &effects)
        } catch {
            // The frames before the error are valid. The frames after it can't be delimited.
            takeStaged(from: bytes, &effects)
            if connection.protocolViolated(.protocolViolation(error)) == .close { effects.channel = .close }
            used = bytes.count
        }
        sendWaitingPosts(&effects)
        continueShutdown(now: now(), &effects)
        closeIfDrained(&effects)
        return connection.discardsInput ? bytes.count : used
    }

    private mutating func takeStaged(from bytes: UnsafeRawBufferPointer, _ effects: inout Effects) {
        if let (request, batch) = router.takeStagedPage(from: bytes) { pageReceived(request, batch, &effects) }
        router.takeStaged(from: bytes) { effects.deliveries.append(($0, $1)) }
    }

    /// Processes a frame, with a fast path for deliveries and receipts. Other frames are rare.
    private mutating func frameReceived(
        _ frame: FrameDecoder.Frame, at offset: Int, in bytes: UnsafeRawBufferPointer, now: () -> Duration,
        _ effects: inout Effects
    ) throws(WireError) {
        switch FrameKind(rawValue: frame.kind) {
        case .deliver:
            if let delivery = try router.deliver(frame.body, at: offset + FrameHeader.size) {
                account(for: delivery)
            }
        case .receipt:
            try receiptReceived(NotifyWire.Receipt(frame), &effects)
        case .run, .redelivery:
            router.begin(try Run(frame))
        case let kind?:
            // The messages before the frame, which the router has staged, are passed on first: the frame may end a
            // subscription, or its place may be between two messages.
            takeStaged(from: bytes, &effects)
            try controlReceived(kind, frame, now: now, &effects)
        case nil:
            effects.warnings.append("notifyd sent a frame of unknown kind \(frame.kind); ignored it")
        }
    }

    private mutating func controlReceived(
        _ kind: FrameKind, _ frame: FrameDecoder.Frame, now: () -> Duration, _ effects: inout Effects
    ) throws(WireError) {
        switch kind {
        case .welcome: welcomed(try Welcome(frame), now: now(), &effects)
        case .subscribed: try subscribed(Subscribed(frame), now: now(), &effects)
        case .detached: try detached(Detached(frame), &effects)
        case .serviceCall: try callReceived(frame, &effects)
        case .serviceCallEnded: callEnded(try ServiceCallEnded(frame), &effects)
        case .serving: try servingBegan(Serving(frame), &effects)
        case .servingEnded: try servingEnded(ServingEnded(frame), now: now(), &effects)
        case .announced: try announced(Announced(frame), &effects)
        case .gap: gapReceived(try Gap(frame), &effects)
        case .deadline: deadlineChanged(try DeadlineNotice(frame), now: now())
        case .error: try errorReceived(ErrorFrame(frame), now: now, &effects)
        case .closing: connection.closingReceived(lastRequest: try Closing(frame).lastRequest, now: now())
        case .logPage: try pageBegan(LogPage(frame), frame, now: now, &effects)
        case .valuePage: try pageBegan(ValuePage(frame), frame, now: now, &effects)
        case _ where kind.isFromDaemon: try replyReceived(frame, now: now, &effects)
        default: throw WireError(.malformedFrame, "a frame of kind \(kind) is only valid from a client")
        }
    }

    private mutating func gapReceived(_ gap: Gap, _ effects: inout Effects) {
        let range = gap.range
        let reason: NotificationClient.Gap.Reason =
            switch gap.reason {
            case .tooSlow: .connectionTooSlow
            case .deleted: .deleted
            case .damaged: .damaged
            case .forbidden: .forbidden
            }
        let notice = NotificationClient.Gap(
            reason: reason, missed: gap.dropped,
            isUpperBound: gap.isUpperBound,
            sequences: range.first <= range.last ? range.first...range.last : nil)
        for buffer in router.dropped(of: gap.subscription, through: range.last) {
            effects.deliveries.append((buffer, .gap(notice)))
        }
    }

    // MARK: Errors

    private mutating func errorReceived(
        _ frame: ErrorFrame, now: () -> Duration, _ effects: inout Effects
    ) throws(WireError) {
        let error = NotifyError(frame)
        if frame.isFatal {
            connection.fatalErrorReceived(error)
            effects.channel = .close
        } else if frame.request != 0, let entry = requests.take(frame.request) {
            refused(entry, error, now: now, &effects)
        } else if frame.request != 0, let number = announcements.number(announcedBy: frame.request) {
            // Another connection has announced the value.
            finishAnnouncement(number, error, &effects)
        } else if frame.subscription != 0, error.code == .subscriptionChanged {
            attachAgain(frame.subscription, isEdited: frame.detail == ErrorFrame.editedDetail)
        } else if frame.subscription != 0 {
            finishSubscription(frame.subscription, error, leaveResult: .success(()), &effects)
        } else if error.code != .unknownSubscription {
            // The daemon has refused a post without a receipt, or an answer to a message. `unknownSubscription` is not
            // reported, because an answer may cross with the end of its subscription.
            effects.warnings.append("notifyd refused a request: \(error.message)")
        }
    }

    private mutating func refused(
        _ entry: PendingRequest, _ error: NotifyError, now: () -> Duration, _ effects: inout Effects
    ) {
        switch entry {
        case .post(_, let waiter):
            posts.inFlight -= 1
            effects.outcomes.append(waiter, .failure(error))
        case .abandonedPost:
            posts.inFlight -= 1
        case .subscribe(let number):
            // If the subscription is being left, the answer to the detach ends it.
            guard subscriptions[number]?.isDetaching == false else { break }
            if error.code == .subscriptionChanged {
                return attachAgain(number, isEdited: error.detail == ErrorFrame.editedDetail)
            }
            finishSubscription(number, error, leaveResult: .success(()), &effects)
        case .detach(let number):
            // A subscription that the daemon does not know counts as left. After any other error, acknowledgements may
            // be uncommitted.
            let isLeft = error.code == .unknownSubscription
            finishSubscription(number, nil, leaveResult: isLeft ? .success(()) : .failure(error), &effects)
        case .serve(let number):
            if servers[number]?.phase == .requested { finishServer(number, error, &effects) }
        case .announce(let number, _, let slot):
            announcementRefused(number, slot, error, &effects)
        case .endServing(let number):
            serverEnded(number, now: now(), &effects)
        case .call(let call):
            effects.fail(call, error)
        case .deadline(let number):
            extender.deadlineReported(number, nil, now: now())
        case .finalPing, .probe:
            break
        }
    }
}
