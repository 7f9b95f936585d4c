import NotifyCenter
import NotifyLog
import NotifyWire

/// Requests other than posts.
extension Broker {
    /// Processes a request other than a post. An invalid request is answered with an error.
    mutating func requestReceived(
        _ kind: FrameKind, _ frame: FrameDecoder.Frame, from slot: ConnectionSlot, now: BrokerTime
    ) {
        var request: UInt64 = 0
        do throws(WireError) {
            switch kind {
            case .acknowledge:
                let frame = try Acknowledge(frame)
                if logs(.trace) { log(.received(kind, subscription: frame.subscription), on: slot) }
                try acknowledge(frame, slot, now: now)
            case .credit:
                let frame = try Credit(frame)
                if logs(.trace) { log(.received(kind, subscription: frame.subscription), on: slot) }
                try addCredit(frame, slot)
            case .reject:
                let frame = try Reject(frame)
                if logs(.trace) { log(.received(kind, subscription: frame.subscription), on: slot) }
                try reject(frame, slot, now: now)
            case .extend:
                let frame = try Extend(frame)
                if logs(.trace) { log(.received(kind, subscription: frame.subscription), on: slot) }
                try extend(frame, slot, now: now)
            case .dropped:
                let frame = try Dropped(frame)
                if logs(.trace) { log(.received(kind, subscription: frame.subscription), on: slot) }
                try droppedByClient(frame, slot)
            case .endRead:
                endRead(try EndRead(frame), slot)
            case .respond:
                try respond(Respond(frame), slot, now: now)
            case .cancelAsk:
                cancel(try CancelAsk(frame), slot)
            default:
                guard frame.body.count >= MemoryLayout<UInt64>.size else { throw WireError.truncated }
                request = Post.request(of: frame)
                if logs(.trace) { log(.requested(kind, request: request), on: slot) }
                try connections.requestReceived(request, from: slot)
                try answerRequest(kind, frame, slot, now: now)
            }
        } catch {
            reject(slot, request: request, error, now: now)
        }
    }

    private mutating func answerRequest(
        _ kind: FrameKind, _ frame: FrameDecoder.Frame, _ slot: ConnectionSlot, now: BrokerTime
    ) throws(WireError) {
        switch kind {
        case .subscribe: try subscribe(Subscribe(frame), slot, now: now)
        case .detach: try detach(Detach(frame), slot, now: now)
        case .remove: try remove(Remove(frame), slot)
        case .describe: try describe(Describe(frame), slot, now: now)
        case .reset: try reset(Reset(frame), slot, now: now)
        case .edit: try edit(Edit(frame), slot)
        case .configure: try configure(Configure(frame), slot, now: now)
        case .deadLetters: try work(on: DeadLetters(frame), slot, now: now)
        case .list: try list(ListRequest(frame), slot, now: now)
        case .ping: try answer(slot, Pong(request: Ping(frame).request))
        case .statistics:
            let request = try StatisticsRequest(frame).request
            scheduler.spend(FairScheduler.Cost.statistics)
            answer(slot, StatisticsReport(request: request, counters: counters(now: now)))
        case .limits:
            let request = try LimitsRequest(frame).request
            let identity = connections[slot].identity
            let (isManager, uid) = (access.mayManageEverything(identity), connections[slot].uid)
            let users = isManager ? knownUsers : [uid]
            scheduler.spend(FairScheduler.Cost.statistics * (1 + users.count))
            answer(slot, StatisticsReport(request: request, counters: limits(of: users, now: now)))
        case .reload: try reload(Reload(frame), slot)
        case .policyQuery: try answer(PolicyQuery(frame), slot)
        case .backup: try backUp(BackupRequest(frame), slot)
        case .backupChunkRequest: try readBackup(BackupChunkRequest(frame), slot)
        case .trace: try trace(TraceRequest(frame), slot)
        case .readLog: try readLog(ReadLog(frame), slot)
        case .readValues: try readValues(ReadValues(frame), slot)
        case .clearValues: try clearValues(ClearValues(frame), slot, now: now)
        case .purge: try purge(Purge(frame), slot)
        case .summarizeLog: try summarize(SummarizeLog(frame), slot)
        case .check: try check(CheckRequest(frame), slot)
        case .find: try find(Find(frame), slot, now: now)
        case .serve: try serve(Serve(frame), slot, now: now)
        case .endServing: try endServing(EndServing(frame), slot, now: now)
        case .announce: try announceReceived(frame, from: slot, now: now)
        case .withdraw: try withdraw(Withdraw(frame), slot, now: now)
        case .ask: try askReceived(frame, from: slot, now: now)
        case .monitor: try monitor(MonitorRequest(frame), slot, now: now)
        default:
            throw WireError(.unknownFrame, "frame kind \(kind.rawValue) is not a request")
        }
    }

    private mutating func droppedByClient(_ dropped: Dropped, _ slot: ConnectionSlot) throws(WireError) {
        guard connections[slot].subscriptions[dropped.subscription] != nil else {
            throw WireError(.unknownSubscription, "this connection has no subscription \(dropped.subscription)")
        }
        // A client can't have dropped more than it was sent.
        let counters = connections[slot].counters
        let received = egress[slot].messageCount.distance(above: counters.dropped)
        let messages = min(dropped.messages, received.distance(above: counters.droppedByClient))
        statistics.droppedByClients += messages
        connections[slot].counters.droppedByClient += messages
    }
}
