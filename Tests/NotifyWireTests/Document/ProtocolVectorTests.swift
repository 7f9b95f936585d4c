import Foundation
import NIOCore
import NotifyWire
import Testing
import WireTestSupport

/// The test vectors of the protocol document, in both directions: the bytes decode to the fields, and the fields encode
/// to the bytes.
@Suite struct ProtocolVectorTests {
    struct Vector: CustomTestStringConvertible, @unchecked Sendable {
        let name: String
        let kind: String
        let isToDaemon: Bool
        let bytes: [UInt8]
        // Safe to share: the dictionary contains values from JSON and is never changed.
        let fields: NSDictionary?
        let error: String?
        var testDescription: String { name }

        static let all: [Vector] = {
            let file = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../../Sources/NotifyWire/NotifyWire.docc/vectors.json")
            guard let data = try? Data(contentsOf: file), let json = try? JSONSerialization.jsonObject(with: data),
                let list = json as? [[String: Any]]
            else { return [] }
            return list.map { entry in
                Vector(
                    name: entry["name"] as? String ?? "", kind: entry["kind"] as? String ?? "",
                    isToDaemon: entry["direction"] as? String == "toDaemon",
                    bytes: ProtocolVectorTests.bytes(entry["hex"] as? String ?? ""),
                    fields: (entry["fields"] as? [String: Any]).map { $0 as NSDictionary },
                    error: entry["error"] as? String)
            }
        }()
    }

    @Test func `every kind has a vector`() {
        let kinds = Set(Vector.all.filter { $0.fields != nil }.map(\.kind))
        #expect(kinds == Set(FrameKind.allCases.map { "\($0)" }))
    }

    @Test(arguments: Vector.all)
    func `the frame header matches the vector`(_ vector: Vector) throws {
        try withFrame(vector.bytes) { frame in
            let kind = try #require(FrameKind(rawValue: frame.kind))
            #expect("\(kind)" == vector.kind)
            #expect(kind.isFromDaemon == !vector.isToDaemon)
        }
    }

    @Test(arguments: Vector.all.filter { $0.fields != nil })
    func `vectors are decoded and encoded`(_ vector: Vector) throws {
        let (fields, encoded) = try withFrame(vector.bytes) { try Self.decode($0) }
        #expect(fields as NSDictionary == vector.fields)
        #expect(encoded == vector.bytes)
    }

    @Test(arguments: Vector.all.filter { $0.error != nil })
    func `invalid vectors are refused with their error code`(_ vector: Vector) throws {
        let error = try #require(throws: WireError.self) { try withFrame(vector.bytes) { _ = try Self.decode($0) } }
        #expect("\(error.code)" == vector.error)
    }

    /// Decodes a frame, and encodes the result again.
    ///
    /// - Returns: The fields by their names in the document, and the encoded bytes.
    private static func decode(_ frame: FrameDecoder.Frame) throws -> (fields: [String: Any], encoded: [UInt8]) {
        guard let kind = FrameKind(rawValue: frame.kind) else { throw NoFrame() }
        switch kind {
        case .hello: return (try fields(Hello(frame)), try Hello(frame).encoded)
        case .welcome: return (try fields(Welcome(frame)), try Welcome(frame).encoded)
        case .post: return try post(frame)
        case .deliver: return try deliver(frame)
        case .receipt: return (try fields(Receipt(frame)), try Receipt(frame).encoded)
        case .subscribe: return (try fields(Subscribe(frame)), try Subscribe(frame).encoded)
        case .subscribed: return (try fields(Subscribed(frame)), try Subscribed(frame).encoded)
        case .detach:
            let detach = try Detach(frame)
            return (["request": detach.request, "subscription": detach.subscription], detach.encoded)
        case .detached:
            let detached = try Detached(frame)
            return (["request": detached.request, "subscription": detached.subscription], detached.encoded)
        case .remove:
            let remove = try Remove(frame)
            return (
                [
                    "request": remove.request, "uid": remove.uid, "endsMembers": remove.endsMembers,
                    "durableName": remove.durableName,
                ], remove.encoded
            )
        case .describe:
            let describe = try Describe(frame)
            return (
                ["request": describe.request, "uid": describe.uid, "durableName": describe.durableName],
                describe.encoded
            )
        case .reset:
            let reset = try Reset(frame)
            return (
                [
                    "request": reset.request, "uid": reset.uid, "position": "\(reset.position)",
                    "durableName": reset.durableName,
                ], reset.encoded
            )
        case .edit:
            let edit = try Edit(frame)
            return (
                [
                    "request": edit.request, "uid": edit.uid, "durableName": edit.durableName,
                    "patterns": edit.patterns,
                ], edit.encoded
            )
        case .durableDescription:
            return (try fields(DurableDescription(frame)), try DurableDescription(frame).encoded)
        case .acknowledge:
            let acknowledge = try Acknowledge(frame)
            let ranges = acknowledge.ranges.map { [$0.first, $0.last] }
            return (["subscription": acknowledge.subscription, "ranges": ranges], acknowledge.encoded)
        case .reject:
            let reject = try Reject(frame)
            return (
                [
                    "subscription": reject.subscription, "sequence": reject.sequence,
                    "outcome": reject.outcome.rawValue, "delay": reject.delayMicroseconds ?? UInt64.max,
                    "delivery": reject.delivery, "reason": reject.reason,
                ], reject.encoded
            )
        case .extend:
            let extend = try Extend(frame)
            return (
                [
                    "subscription": extend.subscription, "sequences": extend.sequences,
                    "microseconds": extend.microseconds,
                ], extend.encoded
            )
        case .configure:
            let configure = try Configure(frame)
            return (
                [
                    "request": configure.request, "uid": configure.uid, "durableName": configure.durableName,
                    "settings": fields(configure.changes),
                ], configure.encoded
            )
        case .deadLetters:
            let letters = try DeadLetters(frame)
            return (
                [
                    "request": letters.request, "uid": letters.uid, "action": letters.action.rawValue,
                    "durableName": letters.durableName, "sequences": letters.sequences,
                ], letters.encoded
            )
        case .deadLettersDone:
            let done = try DeadLettersDone(frame)
            return (["request": done.request, "messages": done.messages, "kept": done.kept], done.encoded)
        case .serve:
            let serve = try Serve(frame)
            return (
                [
                    "request": serve.request, "server": serve.server, "concurrency": serve.concurrency,
                    "patterns": serve.patterns,
                ], serve.encoded
            )
        case .endServing: return try server(EndServing(frame))
        case .serving: return try server(Serving(frame))
        case .servingEnded: return try server(ServingEnded(frame))
        case .ask: return try ask(frame)
        case .cancelAsk: return try request(CancelAsk(frame))
        case .respond: return try respond(frame)
        case .serviceCall: return try serviceCall(frame)
        case .serviceReply: return (try fields(ServiceReply(frame)), try ServiceReply(frame).encoded)
        case .serviceCallEnded:
            let ended = try ServiceCallEnded(frame)
            return (["call": ended.call], ended.encoded)
        case .setValue: return try setValue(frame)
        case .clearValues: return (try fields(ClearValues(frame)), try ClearValues(frame).encoded)
        case .readValues: return (try fields(ReadValues(frame)), try ReadValues(frame).encoded)
        case .valuePage: return (try fields(ValuePage(frame)), try ValuePage(frame).encoded)
        case .valuesCleared:
            let cleared = try ValuesCleared(frame)
            return (
                ["request": cleared.request, "count": cleared.count, "sequence": cleared.sequence], cleared.encoded
            )
        case .announce: return try announce(frame)
        case .announced: return (try fields(Announced(frame)), try Announced(frame).encoded)
        case .withdraw: return (try fields(Withdraw(frame)), try Withdraw(frame).encoded)
        case .credit:
            let credit = try Credit(frame)
            return (["subscription": credit.subscription, "messages": credit.messages], credit.encoded)
        case .dropped:
            let dropped = try Dropped(frame)
            return (["subscription": dropped.subscription, "messages": dropped.messages], dropped.encoded)
        case .removed: return try request(Removed(frame))
        case .ping: return try request(Ping(frame))
        case .pong: return try request(Pong(frame))
        case .list:
            let list = try ListRequest(frame)
            return (["request": list.request, "subject": list.subject.rawValue], list.encoded)
        case .listEnd: return try request(ListEnd(frame))
        case .statistics: return try request(StatisticsRequest(frame))
        case .limits: return try request(LimitsRequest(frame))
        case .reload: return try request(Reload(frame))
        case .reloaded:
            let reloaded = try Reloaded(frame)
            return (
                [
                    "request": reloaded.request, "pendingSettings": reloaded.pendingSettings,
                    "problem": reloaded.problem,
                ], reloaded.encoded
            )
        case .backup:
            let backup = try BackupRequest(frame)
            return (
                [
                    "request": backup.request, "device": backup.target.device, "inode": backup.target.inode,
                    "name": backup.target.name,
                ], backup.encoded
            )
        case .backupReady:
            let ready = try BackupReady(frame)
            return (["request": ready.request, "bytes": ready.bytes], ready.encoded)
        case .backupChunkRequest:
            let chunk = try BackupChunkRequest(frame)
            return (["request": chunk.request, "offset": chunk.offset], chunk.encoded)
        case .backupChunk:
            let chunk = try BackupChunk(frame)
            return (["request": chunk.request, "bytes": hex(Array(chunk.bytes.readableBytesView))], chunk.encoded)
        case .policyQuery:
            let query = try PolicyQuery(frame)
            return (
                [
                    "request": query.request, "uid": query.uid, "gid": query.gid, "groups": query.groups,
                    "right": query.right.rawValue, "name": query.name,
                ], query.encoded
            )
        case .check:
            let check = try CheckRequest(frame)
            return (["request": check.request, "full": check.isFull], check.encoded)
        case .checkProgress:
            let progress = try CheckProgress(frame)
            return (["request": progress.request, "percent": progress.percent], progress.encoded)
        case .checkReport:
            let report = try CheckReport(frame)
            return (
                [
                    "request": report.request, "messages": report.messages, "names": report.names,
                    "segments": report.segments, "subscriptions": report.subscriptions,
                    "damagedMessages": report.damagedMessages, "problemCount": report.problemCount,
                    "full": report.isFull, "ranges": report.damagedRanges.map { [$0.first, $0.last] },
                    "problems": report.problems.map { [$0.part.rawValue, $0.text] as [Any] },
                ], report.encoded
            )
        case .policyDecision:
            let decision = try PolicyDecision(frame)
            return (
                ["request": decision.request, "allowed": decision.isAllowed, "reason": decision.reason],
                decision.encoded
            )
        case .subscriptionEntry: return (try fields(SubscriptionEntry(frame)), try SubscriptionEntry(frame).encoded)
        case .durableEntry: return (try fields(DurableEntry(frame)), try DurableEntry(frame).encoded)
        case .clientEntry: return (try fields(ClientEntry(frame)), try ClientEntry(frame).encoded)
        case .nameEntry: return (try fields(NameEntry(frame)), try NameEntry(frame).encoded)
        case .monitor:
            let monitor = try MonitorRequest(frame)
            return (["request": monitor.request, "patterns": monitor.patterns], monitor.encoded)
        case .postEntry: return (try fields(PostEntry(frame)), try PostEntry(frame).encoded)
        case .trace:
            let trace = try TraceRequest(frame)
            return (["request": trace.request, "sequence": trace.sequence], trace.encoded)
        case .readLog:
            let read = try ReadLog(frame)
            return (
                [
                    "request": read.request, "first": read.first, "last": read.last,
                    "deletionMark": read.deletionMark, "maximumMessages": read.maximumMessages,
                    "waiting": read.isWaiting,
                    "awaitsPending": read.awaitsPending, "descending": read.isDescending, "object": read.object,
                    "patterns": read.patterns,
                ], read.encoded
            )
        case .endRead: return (["request": try EndRead(frame).request], try EndRead(frame).encoded)
        case .logPage:
            let page = try LogPage(frame)
            return (
                [
                    "request": page.request, "count": page.count, "end": page.isEnd, "through": page.through,
                    "damaged": page.damaged, "firstDamaged": page.damagedRange.first,
                    "lastDamaged": page.damagedRange.last, "deleted": page.deleted?.messages ?? 0,
                    "deletedBound": page.deleted?.isUpperBound ?? false,
                    "firstDeleted": page.deleted?.range.first ?? 0, "lastDeleted": page.deleted?.range.last ?? 0,
                    "deletionMark": page.deletionMark,
                ], page.encoded
            )
        case .find:
            let find = try Find(frame)
            return (["request": find.request, "position": "\(find.position)"], find.encoded)
        case .summarizeLog:
            let summarize = try SummarizeLog(frame)
            return (
                [
                    "request": summarize.request, "first": summarize.first, "last": summarize.last,
                    "maximumNames": summarize.maximumNames, "patterns": summarize.patterns,
                ], summarize.encoded
            )
        case .storedNameEntry:
            let entry = try StoredNameEntry(frame)
            return (
                [
                    "request": entry.request, "messages": entry.messages, "bytes": entry.bytes, "first": entry.first,
                    "firstMicroseconds": entry.firstMicroseconds, "last": entry.last,
                    "lastMicroseconds": entry.lastMicroseconds, "name": entry.name,
                ], entry.encoded
            )
        case .purge:
            let purge = try Purge(frame)
            return (["request": purge.request, "before": purge.before, "patterns": purge.patterns], purge.encoded)
        case .purged:
            let purged = try Purged(frame)
            return (
                [
                    "request": purged.request, "messages": purged.messages, "bytes": purged.bytes,
                    "subscriptions": purged.subscriptions, "copies": purged.copies,
                ], purged.encoded
            )
        case .found:
            let found = try Found(frame)
            return (["request": found.request, "sequence": found.sequence, "last": found.last], found.encoded)
        case .traceEntry: return (try fields(TraceEntry(frame)), try TraceEntry(frame).encoded)
        case .statisticsReport:
            let report = try StatisticsReport(frame)
            let counters = report.counters.map { [$0.name, $0.value] as [Any] }
            return (["request": report.request, "counters": counters], report.encoded)
        case .run, .redelivery:
            let run = try Run(frame)
            var buffer = ByteBuffer()
            run.write(to: &buffer)
            #expect(run.isRedelivery == (kind == .redelivery))
            return (
                ["subscription": run.subscription, "count": run.count, "delivery": run.delivery],
                Array(buffer.readableBytesView)
            )
        case .gap: return (try fields(Gap(frame)), try Gap(frame).encoded)
        case .deadline:
            let deadline = try DeadlineNotice(frame)
            return (
                ["subscription": deadline.subscription, "microseconds": deadline.microseconds], deadline.encoded
            )
        case .error: return (try fields(ErrorFrame(frame)), try ErrorFrame(frame).encoded)
        case .closing:
            let closing = try Closing(frame)
            return (["lastRequest": closing.lastRequest], closing.encoded)
        }
    }

    private static func request(_ frame: some BareFrame) -> (fields: [String: Any], encoded: [UInt8]) {
        (["request": frame.request], frame.encoded)
    }

    private static func post(_ frame: FrameDecoder.Frame) throws -> (fields: [String: Any], encoded: [UInt8]) {
        let post = try Post(frame)
        var fields = try fields(post.parts)
        fields["request"] = post.request
        fields["receipt"] = post.wantsReceipt
        fields["durability"] = post.durability.rawValue
        var buffer = ByteBuffer()
        post.append(to: &buffer)
        return (fields, Array(buffer.readableBytesView))
    }

    private static func deliver(_ frame: FrameDecoder.Frame) throws -> (fields: [String: Any], encoded: [UInt8]) {
        let delivery = try Delivery(reading: frame.body)
        var fields = try fields(delivery.parts)
        fields["sequence"] = delivery.stamp.sequence
        fields["time"] = delivery.stamp.timeMicroseconds
        fields["uid"] = delivery.stamp.uid
        fields["gid"] = delivery.stamp.gid
        fields["pid"] = delivery.stamp.pid
        var buffer = ByteBuffer()
        Delivery.append(delivery.stamp, delivery.parts, to: &buffer)
        return (fields, Array(buffer.readableBytesView))
    }

    private static func server(_ frame: some ServerFrame) -> (fields: [String: Any], encoded: [UInt8]) {
        (["request": frame.request, "server": frame.server], frame.encoded)
    }

    private static func ask(_ frame: FrameDecoder.Frame) throws -> (fields: [String: Any], encoded: [UInt8]) {
        let ask = try Ask(frame)
        var fields = try fields(ask.parts)
        fields["object"] = nil
        fields["request"] = ask.request
        fields["milliseconds"] = ask.timeoutMilliseconds
        var buffer = ByteBuffer()
        ask.append(to: &buffer)
        return (fields, Array(buffer.readableBytesView))
    }

    private static func serviceCall(_ frame: FrameDecoder.Frame) throws -> (fields: [String: Any], encoded: [UInt8]) {
        let call = try ServiceCall(frame)
        var fields = try fields(call.parts)
        fields["object"] = nil
        fields["call"] = call.call
        fields["server"] = call.server
        fields["milliseconds"] = call.timeoutMilliseconds
        fields["time"] = call.stamp.timeMicroseconds
        fields["uid"] = call.stamp.uid
        fields["gid"] = call.stamp.gid
        fields["pid"] = call.stamp.pid
        var buffer = ByteBuffer()
        call.append(to: &buffer)
        return (fields, Array(buffer.readableBytesView))
    }

    private static func respond(_ frame: FrameDecoder.Frame) throws -> (fields: [String: Any], encoded: [UInt8]) {
        let respond = try Respond(frame)
        let headers = try HeaderList.decode(respond.headers).map { [$0.key, $0.value] }
        var buffer = ByteBuffer()
        respond.append(to: &buffer)
        return (
            [
                "call": respond.call, "outcome": respond.outcome.rawValue, "headers": headers,
                "payload": hex(Array(respond.payload)),
            ], Array(buffer.readableBytesView)
        )
    }

    private static func fields(_ reply: ServiceReply) throws -> [String: Any] {
        let headers = try reply.headers.withUnsafeReadableBytes { bytes in
            try HeaderList.decode(bytes).map { [$0.key, $0.value] }
        }
        return [
            "request": reply.request, "uid": reply.uid, "gid": reply.gid, "pid": reply.pid, "headers": headers,
            "payload": hex(Array(reply.payload.readableBytesView)),
        ]
    }

    static func fields(_ parts: MessageParts) throws -> [String: Any] {
        [
            "name": String(decoding: parts.name, as: UTF8.self),
            "object": String(decoding: parts.object, as: UTF8.self),
            "headers": try HeaderList.decode(parts.headers).map { [$0.key, $0.value] },
            "payload": hex(Array(parts.payload)),
        ]
    }

    private static func fields(_ hello: Hello) -> [String: Any] {
        [
            "lowestVersion": hello.lowestVersion, "highestVersion": hello.highestVersion,
            "overflow": hello.overflow.rawValue, "instance": hex(hello.instance),
        ]
    }

    private static func fields(_ welcome: Welcome) -> [String: Any] {
        [
            "version": welcome.version, "uid": welcome.uid, "gid": welcome.gid, "pid": welcome.pid,
            "maximumPayload": welcome.maximumPayloadBytes, "postWindow": welcome.postWindow,
            "maximumWindow": welcome.maximumWindow, "maximumSubscriptions": welcome.maximumSubscriptions,
            "daemonInstance": hex(welcome.daemonInstance), "clientInstance": hex(welcome.clientInstance),
            "daemonVersion": welcome.daemonVersion, "epoch": welcome.epoch,
        ]
    }

    private static func fields(_ receipt: Receipt) -> [String: Any] {
        [
            "request": receipt.request, "sequence": receipt.sequence, "subscribers": receipt.subscribers,
            "stored": receipt.stored, "durability": receipt.durability.rawValue,
        ]
    }

    private static func fields(_ subscribe: Subscribe) -> [String: Any] {
        let (start, value): (Int, UInt64) =
            switch subscribe.start {
            case .now: (0, 0)
            case .oldest: (1, 0)
            case .sequence(let sequence): (2, sequence)
            case .age(let microseconds): (3, microseconds)
            case .time(let microseconds): (4, microseconds)
            }
        return [
            "request": subscribe.request, "subscription": subscribe.subscription, "window": subscribe.window,
            "credit": subscribe.credit, "start": start, "startValue": value,
            "durableName": subscribe.durableName, "object": subscribe.object, "patterns": subscribe.patterns,
            "sharing": subscribe.sharing.rawValue, "takesOver": subscribe.takesOver,
            "creation": subscribe.creation.rawValue,
            "settings": fields(subscribe.settings),
        ]
    }

    private static func fields(_ changes: DurableSettingChanges) -> [String: Any] {
        var fields: [String: Any] = ["retryDelays": changes.retryDelays]
        fields["deadline"] = changes.deadlineMicroseconds
        fields["maximumDeliveries"] = changes.maximumDeliveries
        fields["maximumInFlight"] = changes.maximumInFlight
        return fields
    }

    private static func fields(_ settings: DurableSettings) -> [String: Any] {
        [
            "sharing": settings.sharing.rawValue, "deadline": settings.deadlineMicroseconds,
            "retryDelays": settings.retryDelays, "maximumDeliveries": settings.maximumDeliveries,
            "maximumInFlight": settings.maximumInFlight,
        ]
    }

    private static func fields(_ subscribed: Subscribed) -> [String: Any] {
        [
            "request": subscribed.request, "subscription": subscribed.subscription,
            "sequence": subscribed.sequence, "generation": subscribed.generation,
            "resumed": subscribed.isResumed,
        ]
    }

    private static func fields(_ entry: SubscriptionEntry) -> [String: Any] {
        [
            "request": entry.request, "uid": entry.uid, "pid": entry.pid, "client": entry.client,
            "cursor": entry.cursor, "behind": entry.behind ?? 0, "behindKnown": entry.behind != nil,
            "behindBound": entry.isBehindUpperBound, "acknowledged": entry.acknowledged,
            "unacknowledged": entry.unacknowledged, "concurrency": entry.concurrency,
            "durableName": entry.durableName, "object": entry.object, "patterns": entry.patterns,
        ]
    }

    private static func fields(_ entry: DurableEntry) -> [String: Any] {
        [
            "request": entry.request, "uid": entry.uid, "pid": entry.pid, "client": entry.client,
            "cursor": entry.cursor, "lost": entry.lost, "lostBound": entry.isLostUpperBound,
            "inFlight": entry.inFlight, "members": entry.members, "waiting": entry.waiting,
            "sharing": entry.sharing.rawValue, "pending": entry.pending?.messages ?? 0,
            "pendingBytes": entry.pending?.bytes ?? 0, "oldest": entry.pending?.oldestMicroseconds ?? 0,
            "pendingKnown": entry.pending != nil, "pendingBound": entry.pending?.isUpperBound ?? false,
            "durableName": entry.durableName, "object": entry.object, "patterns": entry.patterns,
        ]
    }

    private static func fields(_ description: DurableDescription) -> [String: Any] {
        let own: [String: Any] = [
            "settings": fields(description.settings), "created": description.createdMicroseconds,
            "attached": description.attachedMicroseconds,
            "attachedPID": description.attachedPID, "expiry": description.expiryMicroseconds,
            "unused": description.unusedMicroseconds ?? 0, "unusedKnown": description.unusedMicroseconds != nil,
            "withheld": description.withheld, "existed": description.existed,
            "needsRoom": description.needsRoom,
            "failures": description.lastFailure?.failures ?? 0, "next": description.nextMicroseconds,
            "failedSequence": description.lastFailure?.sequence ?? 0,
            "failedTime": description.lastFailure?.microseconds ?? 0,
            "failedReason": description.lastFailure?.reason ?? "",
        ]
        return own.merging(fields(description.entry)) { own, _ in own }
    }

    private static func fields(_ entry: ClientEntry) -> [String: Any] {
        [
            "request": entry.request, "client": entry.client, "connected": entry.connectedMicroseconds,
            "uid": entry.uid, "gid": entry.gid, "pid": entry.pid, "subscriptions": entry.subscriptions,
            "posts": entry.posts, "refused": entry.refused, "delivered": entry.delivered, "dropped": entry.dropped,
            "droppedByClient": entry.droppedByClient, "waitingBytes": entry.waitingBytes,
        ]
    }

    private static func fields(_ entry: NameEntry) -> [String: Any] {
        [
            "request": entry.request, "posts": entry.posts, "payloadBytes": entry.payloadBytes,
            "dropped": entry.dropped, "subscribers": entry.subscribers, "durables": entry.durables, "name": entry.name,
        ]
    }

    private static func fields(_ entry: PostEntry) -> [String: Any] {
        [
            "request": entry.request, "skipped": entry.skipped, "sequence": entry.stamp.sequence,
            "time": entry.stamp.timeMicroseconds, "uid": entry.stamp.uid, "gid": entry.stamp.gid,
            "pid": entry.stamp.pid, "subscribers": entry.subscribers, "client": entry.client, "stored": entry.stored,
            "payloadBytes": entry.payloadBytes, "code": entry.errorCode, "durability": entry.durability.rawValue,
            "name": hex(entry.name), "object": hex(entry.object), "headers": hex(entry.headers),
            "payload": hex(entry.payload), "reason": entry.reason, "ask": entry.isRequest,
        ]
    }

    private static func fields(_ entry: TraceEntry) -> [String: Any] {
        [
            "request": entry.request, "uid": entry.uid, "pid": entry.pid, "client": entry.client,
            "state": entry.state.rawValue, "mayHaveBeenSeen": entry.mayHaveBeenSeen,
            "durableName": entry.durableName, "failures": entry.failures, "next": entry.nextMicroseconds,
            "reason": entry.reason,
        ]
    }

    private static func fields(_ gap: Gap) -> [String: Any] {
        [
            "subscription": gap.subscription, "dropped": gap.dropped, "first": gap.range.first,
            "last": gap.range.last,
        ]
    }

    private static func fields(_ error: ErrorFrame) -> [String: Any] {
        [
            "request": error.request, "code": error.code, "subscription": error.subscription,
            "detail": error.detail, "message": error.message, "fatal": error.isFatal,
        ]
    }

    // MARK: Hexadecimal

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
    }

    static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private static func hex(_ instance: InstanceID) -> String {
        hex(
            [instance.high, instance.low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (8 * $0)) }
            })
    }
}
