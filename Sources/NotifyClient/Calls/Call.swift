import NIOCore
import NotifyWire

/// A request other than a post or subscription, with the slot for its answer.
enum Call: Sendable {
    case list(ListQuery, ReplySlot<[ListedEntry]>, entries: [ListedEntry])
    case log(ReadLog, ReplySlot<ReceivedLogPage>, page: ReceivedLogPage?)
    case find(LogPosition, ReplySlot<Found>)
    case remove(name: String, uid: UInt32, ReplySlot<Void>)
    case purge(NotifyWire.Purge, ReplySlot<NotifyClient.PurgeResult>)
    case durable(DurableRequest, ReplySlot<NotifyClient.DurableDetails>)
    case deadLetters(NotifyWire.DeadLetters, ReplySlot<NotifyClient.DeadLetterResult>)
    case ping(ReplySlot<Void>)
    case statistics(ReplySlot<NotifyClient.Statistics>)
    case limits(ReplySlot<[NotifyClient.ResourceUse]>)
    case reload(ReplySlot<[String]>)
    case backup(FileLocation, ReplySlot<UInt64>)
    case backupChunk(offset: UInt64, ReplySlot<ByteBuffer>)
    case check(isFull: Bool, ReplySlot<NotifyClient.LogCheck>, progress: @Sendable (Int) -> Void)
    case policy(NotifyClient.PolicyQuestion, ReplySlot<NotifyClient.PolicyDecision>)

    func write(request: UInt64, to buffer: inout ByteBuffer) {
        switch self {
        case .list(let query, _, _): query.write(request: request, to: &buffer)
        case .log(var read, _, _):
            read.request = request
            read.write(to: &buffer)
        case .find(let position, _): Find(request: request, position: position).write(to: &buffer)
        case .remove(let name, let uid, _):
            NotifyWire.Remove(request: request, uid: uid, durableName: name).write(to: &buffer)
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

    func fail(_ error: NotifyError) {
        switch self {
        case .list(_, let slot, _): slot.answer(.failure(error))
        case .log(_, let slot, _): slot.answer(.failure(error))
        case .find(_, let slot): slot.answer(.failure(error))
        case .remove(_, _, let slot), .ping(let slot): slot.answer(.failure(error))
        case .purge(_, let slot): slot.answer(.failure(error))
        case .durable(_, let slot): slot.answer(.failure(error))
        case .deadLetters(_, let slot): slot.answer(.failure(error))
        case .statistics(let slot): slot.answer(.failure(error))
        case .limits(let slot): slot.answer(.failure(error))
        case .backup(_, let slot): slot.answer(.failure(error))
        case .backupChunk(_, let slot): slot.answer(.failure(error))
        case .reload(let slot): slot.answer(.failure(error))
        case .check(_, let slot, _): slot.answer(.failure(error))
        case .policy(_, let slot): slot.answer(.failure(error))
        }
    }

    /// The error to report if the connection breaks before the answer arrives.
    var lossError: NotifyError {
        switch self {
        case .remove, .reload, .purge, .deadLetters: .outcomeUnknown
        case .durable(let durable, _): durable.isChange ? .outcomeUnknown : .connectionLost
        default: .connectionLost
        }
    }

    func isAnswered(by slot: AnyObject) -> Bool {
        switch self {
        case .list(_, let mine, _): mine === slot
        case .log(_, let mine, _): mine === slot
        case .find(_, let mine): mine === slot
        case .remove(_, _, let mine), .ping(let mine): mine === slot
        case .purge(_, let mine): mine === slot
        case .durable(_, let mine): mine === slot
        case .deadLetters(_, let mine): mine === slot
        case .statistics(let mine): mine === slot
        case .limits(let mine): mine === slot
        case .backup(_, let mine): mine === slot
        case .backupChunk(_, let mine): mine === slot
        case .reload(let mine): mine === slot
        case .check(_, let mine, _): mine === slot
        case .policy(_, let mine): mine === slot
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
