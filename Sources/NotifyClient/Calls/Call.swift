import NIOCore
import NotifyWire

/// A request other than a post or subscription, with the slot for its answer.
enum Call: Sendable {
    case list(ListQuery, ReplySlot<[ListedEntry]>, entries: [ListedEntry])
    case log(ReadLog, ReplySlot<ReceivedLogPage>, page: ReceivedLogPage?)
    case find(LogPosition, ReplySlot<Found>)
    case remove(name: String, uid: UInt32, endsMembers: Bool, ReplySlot<Void>)
    case purge(NotifyWire.Purge, ReplySlot<NotificationClient.Administration.PurgeResult>)
    case durable(DurableRequest, ReplySlot<NotificationClient.Administration.DurableDetails>)
    case deadLetters(NotifyWire.DeadLetters, ReplySlot<NotificationClient.Administration.DeadLetterResult>)
    case ping(ReplySlot<Void>)
    case statistics(ReplySlot<NotificationClient.Administration.Statistics>)
    case limits(ReplySlot<[NotificationClient.Administration.ResourceUse]>)
    case reload(ReplySlot<NotificationClient.Administration.ReloadOutcome>)
    case backup(FileLocation, ReplySlot<UInt64>)
    case backupChunk(offset: UInt64, ReplySlot<ByteBuffer>)
    case check(isFull: Bool, ReplySlot<NotificationClient.Administration.LogCheck>, progress: @Sendable (Int) -> Void)
    case policy(
        NotificationClient.Administration.PolicyQuestion, ReplySlot<NotificationClient.Administration.PolicyDecision>)

    func write(request: UInt64, to buffer: inout ByteBuffer) {
        switch self {
        case .list(let query, _, _): query.write(request: request, to: &buffer)
        case .log(var read, _, _):
            read.request = request
            read.write(to: &buffer)
        case .find(let position, _): Find(request: request, position: position).write(to: &buffer)
        case .remove(let name, let uid, let endsMembers, _):
            NotifyWire.Remove(request: request, uid: uid, endsMembers: endsMembers, durableName: name).write(
                to: &buffer)
        case .purge(var purge, _):
            purge.request = request
            purge.write(to: &buffer)
        case .durable(let durable, _): durable.write(request: request, to: &buffer)
        case .deadLetters(var letters, _):
            letters.request = request
            letters.write(to: &buffer)
        case .ping: NotifyWire.Ping(request: request).write(to: &buffer)
        case .statistics: StatisticsRequest(request: request).write(to: &buffer)
        case .limits: LimitsRequest(request: request).write(to: &buffer)
        case .backup(let target, _): BackupRequest(request: request, target: target).write(to: &buffer)
        case .backupChunk(let offset, _): BackupChunkRequest(request: request, offset: offset).write(to: &buffer)
        case .reload: Reload(request: request).write(to: &buffer)
        case .check(let isFull, _, _): CheckRequest(request: request, isFull: isFull).write(to: &buffer)
        case .policy(let question, _): question.query(request: request).write(to: &buffer)
        }
    }

    var slot: any RequestSlot {
        switch self {
        case .list(_, let slot, _): slot
        case .log(_, let slot, _): slot
        case .find(_, let slot): slot
        case .remove(_, _, _, let slot), .ping(let slot): slot
        case .purge(_, let slot): slot
        case .durable(_, let slot): slot
        case .deadLetters(_, let slot): slot
        case .statistics(let slot): slot
        case .limits(let slot): slot
        case .backup(_, let slot): slot
        case .backupChunk(_, let slot): slot
        case .reload(let slot): slot
        case .check(_, let slot, _): slot
        case .policy(_, let slot): slot
        }
    }

    /// The error to report if the connection breaks before the answer arrives.
    var lossError: NotifyError {
        switch self {
        case .remove, .reload, .purge, .deadLetters: .outcomeUnknown
        case .durable(let durable, _): durable.isChange ? .outcomeUnknown : .connectionLost
        case .list, .log, .find, .ping, .statistics, .limits, .backup, .backupChunk, .check, .policy: .connectionLost
        }
    }

    /// The error to report if the answer does not arrive in time.
    func timeoutError(after limit: Duration) -> NotifyError {
        lossError.code == .outcomeUnknown ? .outcomeUnknown(after: limit) : .timedOut(after: limit)
    }

    enum TimeLimit {
        /// The answer must arrive in time.
        case answer
        /// The request may take long: the daemon must answer pings in time.
        case silence
        /// The request waits for an event.
        case none
    }

    /// The part of a request that the time limit of the client bounds.
    var timeLimit: TimeLimit {
        switch self {
        case .log(let read, _, _): read.isWaiting ? .none : .answer
        case .check, .backup, .purge, .reload, .deadLetters, .list(.summary, _, _): .silence
        case .list, .find, .remove, .durable, .ping, .statistics, .limits, .backupChunk, .policy: .answer
        }
    }
}

/// A request whose answer is entries and a list end.
enum ListQuery: Sendable {
    case subject(ListSubject)
    case monitor(patterns: [String])
    case trace(sequence: UInt64)
    case summary(SummarizeLog)

    func write(request: UInt64, to buffer: inout ByteBuffer) {
        switch self {
        case .subject(let subject): ListRequest(request: request, subject: subject).write(to: &buffer)
        case .monitor(let patterns): MonitorRequest(request: request, patterns: patterns).write(to: &buffer)
        case .trace(let sequence): TraceRequest(request: request, sequence: sequence).write(to: &buffer)
        case .summary(var summarize):
            summarize.request = request
            summarize.write(to: &buffer)
        }
    }
}

/// An entry of a list, as received.
enum ListedEntry: Sendable {
    case subscription(SubscriptionEntry)
    case client(ClientEntry)
    case name(NameEntry)
    case post(PostEntry)
    case trace(TraceEntry)
    case durable(DurableEntry)
    case storedName(StoredNameEntry)

    var request: UInt64 {
        switch self {
        case .subscription(let entry): entry.request
        case .client(let entry): entry.request
        case .name(let entry): entry.request
        case .post(let entry): entry.request
        case .trace(let entry): entry.request
        case .durable(let entry): entry.request
        case .storedName(let entry): entry.request
        }
    }
}
