import NIOCore
import NotifyWire
import Testing
import WireTestSupport

/// A frame of one kind, type-erased so that one test covers all kinds.
struct Sample: Sendable, CustomTestStringConvertible {
    let kind: FrameKind
    let bytes: [UInt8]
    /// Decodes bytes as this kind, and encodes the result.
    let recode: @Sendable ([UInt8]) throws -> [UInt8]
    let isEqualAfterDecoding: @Sendable () throws -> Bool
    var testDescription: String { "\(kind)" }

    init<Frame: ControlFrame>(_ frame: Frame) {
        kind = Frame.kind
        bytes = frame.encoded
        recode = { try Frame.decode($0).encoded }
        isEqualAfterDecoding = { try Frame.decode(frame.encoded) == frame }
    }

    private static let changes = DurableSettingChanges(
        deadlineMicroseconds: DurableSettingChanges.maximumSpan,
        retryDelays: Array(repeating: 7, count: DurableSettingChanges.maximumRetryDelays), maximumDeliveries: .max,
        maximumInFlight: DurableSettingChanges.maximumInFlightLimit)

    private static var post: PostEntry {
        var post = PostEntry(
            request: 18, stamp: Stamp(sequence: 1, timeMicroseconds: 2, uid: 3, gid: 4, pid: 5), name: [0xFF, 0])
        post.skipped = .max
        (post.client, post.subscribers, post.stored, post.durability) = (6, 7, 8, .synced)
        (post.errorCode, post.payloadBytes, post.reason) = (9, .max, "no rùle")
        (post.object, post.headers, post.payload) = ([1], [2, 3], [UInt8](repeating: 4, count: 1_024))
        return post
    }

    private static var ask: PostEntry {
        var ask = post
        ask.isRequest = true
        return ask
    }

    static let all: [Sample] = [
        Sample(Hello(lowestVersion: 1, highestVersion: 9, overflow: .keepLatest, instance: .init(high: 1, low: .max))),
        Sample(
            Welcome(
                version: 1, uid: 1000, gid: 100, pid: .max, maximumPayloadBytes: 1 << 20, postWindow: 1024,
                maximumWindow: 65536, maximumSubscriptions: 7, daemonInstance: .init(high: 2, low: 3),
                clientInstance: .init(high: 4, low: 5), daemonVersion: "1.0-ü")),
        Sample(Receipt(request: 1, sequence: 1 << 53 - 1, subscribers: 3, stored: .max, durability: .synced)),
        Sample(Receipt(request: .max, sequence: 1, subscribers: 0, stored: 0, durability: .volatile)),
        Sample(Subscribe(request: 1, subscription: 2, patterns: ["a.*", ">"])),
        Sample(
            Subscribe(
                request: 3, subscription: .max, patterns: [String(repeating: "p", count: 255)],
                object: String(repeating: "o", count: 255), durableName: String(repeating: "n", count: 64),
                start: .oldest, window: 9, credit: 0)),
        Sample(Subscribe(request: 4, subscription: 5, patterns: ["a"], start: .sequence(1 << 53 - 1))),
        Sample(
            Subscribe(
                request: 4, subscription: 5, patterns: ["a"], object: "ø", durableName: "jobs", sharing: .group,
                takesOver: true, settings: Self.changes)),
        Sample(Subscribe(request: 4, subscription: 5, patterns: ["a"], durableName: "jobs", creation: .only)),
        Sample(Subscribe(request: 4, subscription: 5, patterns: ["a"], durableName: "jobs", creation: .never)),
        Sample(
            Subscribe(
                request: 4, subscription: 5, patterns: ["a"], durableName: "jobs", sharing: .group,
                settings: DurableSettingChanges(deadlineMicroseconds: 0))),
        Sample(Reject(subscription: 5, sequence: 6)),
        Sample(
            Reject(
                subscription: 5, sequence: .max, outcome: .dead,
                delayMicroseconds: DurableSettingChanges.maximumSpan, delivery: .max,
                reason: String(repeating: "é", count: Limits.reasonBytes / 2))),
        Sample(Reject(subscription: 5, sequence: 6, outcome: .returned, delayMicroseconds: 0)),
        Sample(Extend(subscription: 5, sequences: [])),
        Sample(
            Extend(
                subscription: 5, sequences: Array(1...UInt64(Limits.acknowledgedRangesPerFrame)),
                microseconds: DurableSettingChanges.maximumSpan)),
        Sample(Configure(request: 8, uid: 9, durableName: "jobs", changes: Self.changes)),
        Sample(Configure(request: 8, durableName: "", changes: DurableSettingChanges())),
        Sample(DeadLetters(request: 8, action: .retry)),
        Sample(DeadLetters(request: 8, uid: 9, action: .purge, durableName: "jobs", sequences: [1, .max])),
        Sample(DeadLettersDone(request: 8, messages: 9, kept: .max)),
        Sample(Serve(request: 8, server: 9, concurrency: .max, patterns: ["a", String(repeating: "p", count: 255)])),
        Sample(Serve(request: 8, server: 0, concurrency: 0, patterns: [])),
        Sample(Serving(request: 8, server: .max)),
        Sample(EndServing(request: 8, server: 9)),
        Sample(ServingEnded(request: 8, server: 9)),
        Sample(CancelAsk(request: 8)),
        Sample(
            ServiceReply(
                request: 8, uid: 9, gid: 10, pid: .max, headers: ByteBuffer(bytes: [1, 2]),
                payload: ByteBuffer(bytes: [3, 4, 5]))),
        Sample(ServiceReply(request: 8, uid: 0, gid: 0, pid: 0, headers: ByteBuffer(), payload: ByteBuffer())),
        Sample(ServiceCallEnded(call: .max)),
        Sample(Subscribe(request: 4, subscription: 5, patterns: ["a"], start: .age(microseconds: 0))),
        Sample(Subscribe(request: 4, subscription: 5, patterns: ["a"], start: .time(microseconds: 1 << 63 - 1))),
        Sample(Subscribed(request: 3, subscription: 4, sequence: 5, isResumed: true)),
        Sample(Subscribed(request: 3, subscription: 4, sequence: 5, generation: 6, isResumed: false)),
        Sample(Dropped(subscription: 4, messages: 5)),
        Sample(Detach(request: 6, subscription: 7)),
        Sample(Detached(request: 6, subscription: 7)),
        Sample(Remove(request: 8, uid: 9, durableName: "mail")),
        Sample(Remove(request: 8, endsMembers: true, durableName: "mail")),
        Sample(Removed(request: 8)),
        Sample(Describe(request: 8, uid: 9, durableName: "mail")),
        Sample(Reset(request: 8, uid: 9, durableName: "mail", to: .now)),
        Sample(
            Reset(
                request: 8, uid: 9, durableName: String(repeating: "n", count: 64),
                to: .time(microseconds: 1 << 63 - 1))),
        Sample(Edit(request: 8, uid: 9, durableName: "mail", patterns: ["a", String(repeating: "p", count: 255)])),
        Sample(Edit(request: 8, durableName: "", patterns: [])),
        Sample(Acknowledge(subscription: 10, ranges: [.init(first: 1, last: 1), .init(first: 3, last: .max)])),
        Sample(Acknowledge(subscription: 10, ranges: [])),
        Sample(Credit(subscription: 11, messages: 12)),
        Sample(DeadlineNotice(subscription: 11, microseconds: 12)),
        Sample(Gap(subscription: 0, dropped: 13, range: .init(first: 14, last: 15))),
        Sample(Ping(request: 16)),
        Sample(Pong(request: 16)),
        Sample(ListRequest(request: 17)),
        Sample(ListRequest(request: 17, subject: .clients)),
        Sample(
            SubscriptionEntry(
                request: 17, uid: 18, pid: 19, client: 20, cursor: 21, behind: 22, isBehindUpperBound: true,
                acknowledged: 23, unacknowledged: 24, durableName: "mail", object: "ø", patterns: ["a", ">"])),
        Sample(SubscriptionEntry(request: 17, uid: 18, behind: 22, durableName: "mail", patterns: ["a"])),
        Sample(SubscriptionEntry(request: 17, uid: 18, patterns: [])),
        Sample(
            SubscriptionEntry(
                request: 17, uid: 18, pid: 19, client: 20, unacknowledged: 21, concurrency: .max, patterns: ["a"])),
        Sample(ListRequest(request: 17, subject: .backlogs)),
        Sample(
            DurableEntry(
                request: 17, uid: 18, pid: 19, client: 20, cursor: 21, lost: 23, isLostUpperBound: true,
                inFlight: 24, members: 28, waiting: .max, sharing: .group,
                pending: .init(messages: 25, bytes: 26, oldestMicroseconds: 27, isUpperBound: true),
                durableName: "mail", object: "ø", patterns: ["a", ">"])),
        Sample(DurableEntry(request: 17, uid: 18, durableName: "mail", patterns: ["a"])),
        Sample(
            DurableDescription(
                DurableEntry(
                    request: 17, uid: 18, isLostUpperBound: true,
                    pending: .init(messages: 25, bytes: 26, oldestMicroseconds: 27), durableName: "mail",
                    patterns: ["a", ">"]),
                settings: DurableSettings(
                    sharing: .group, deadlineMicroseconds: .max, retryDelays: [0, .max], maximumDeliveries: .max,
                    maximumInFlight: 2),
                createdMicroseconds: 28, attachedMicroseconds: 29, attachedPID: .max, expiryMicroseconds: 30,
                unusedMicroseconds: .max, withheld: 31, existed: true, needsRoom: true)),
        Sample(
            DurableDescription(
                DurableEntry(request: 17, uid: 18, durableName: "mail", patterns: ["a"]),
                settings: DurableSettings(defaultsFor: .exclusive))),
        Sample(
            ClientEntry(
                request: 17, client: 1, connectedMicroseconds: 2, uid: 3, gid: 4, pid: 5, subscriptions: 6, posts: 7,
                refused: 8, delivered: 9, dropped: 10, droppedByClient: 11, waitingBytes: .max)),
        Sample(ListRequest(request: 17, subject: .names)),
        Sample(
            NameEntry(
                request: 17, posts: 1, payloadBytes: 2, dropped: .max, subscribers: 3, durables: 4, name: "orders.ø")),
        Sample(MonitorRequest(request: 18, patterns: ["orders.>", "*"])),
        Sample(MonitorRequest(request: 18, patterns: [])),
        Sample(Self.post),
        Sample(Self.ask),
        Sample(PostEntry(stamp: Stamp(sequence: 0, timeMicroseconds: 0, uid: 0, gid: 0, pid: 0), name: [])),
        Sample(TraceRequest(request: 19, sequence: .max)),
        Sample(
            TraceEntry(
                request: 19, state: .inFlight, mayHaveBeenSeen: true, uid: 20, pid: 21, client: 22, failures: 23,
                nextMicroseconds: 24, reason: "ø\n", durableName: "mail")
        ),
        Sample(TraceEntry(request: 19, state: .forbidden, uid: 20, durableName: "")),
        Sample(ReadLog(request: 20, patterns: [">"])),
        Sample(
            ReadLog(
                request: 20, first: 21, last: 22, maximumMessages: 23, isWaiting: true, object: "ø",
                patterns: ["a", "b.>"])),
        Sample(ReadLog(request: 20, awaitsPending: true, patterns: ["a"])),
        Sample(ReadLog(request: 20, isDescending: true, patterns: ["a"])),
        Sample(SummarizeLog(request: 20, first: 21, last: .max, maximumNames: 22, patterns: ["a", "b.>"])),
        Sample(
            StoredNameEntry(
                request: 20, messages: 21, bytes: 22, first: 23, firstMicroseconds: 24, last: 25,
                lastMicroseconds: .max,
                name: "ø")),
        Sample(Purge(request: 20, before: 21, patterns: ["a", "b.>"])),
        Sample(Purged(request: 20, messages: 21, bytes: .max, subscriptions: 22, copies: 23)),
        Sample(EndRead(request: 20)),
        Sample(
            LogPage(
                request: 20, count: 2, isEnd: true, through: 30, damaged: 3,
                damagedRange: SequenceRange(first: 24, last: .max),
                deleted: .init(messages: 4, isUpperBound: true, range: SequenceRange(first: 1, last: 9)),
                deletionMark: 31)),
        Sample(LogPage(request: 20, count: 0, isEnd: false, through: 0)),
        Sample(ClearValues(request: 20, ifSequence: .max, object: "ø", patterns: ["a"])),
        Sample(ClearValues(request: 20, ifSequence: 0, object: "", patterns: ["a"])),
        Sample(ClearValues(request: 20, object: nil, patterns: ["a", "b.>"])),
        Sample(ValuesCleared(request: 20, count: 21, sequence: .max)),
        Sample(ReadValues(request: 20, .keys(after: 21, through: 22), maximumMessages: 23, patterns: ["a", "b.>"])),
        Sample(
            ReadValues(
                request: 20, epoch: .max, run: 24, .changes(after: 21, announcedAfter: 22, isWaiting: true),
                object: "ø", patterns: ["a"])),
        Sample(
            ReadValues(
                request: 20, run: .max, .changes(after: 21, announcedAfter: .max, isWaiting: false), object: "",
                patterns: ["a"])),
        Sample(
            ValuePage(
                request: 20, count: 21, isEnd: true, isReset: true, isAnnouncedReset: true, epoch: .max, run: 26,
                through: 22, announcedThrough: 27, committedThrough: 23, lastKey: 24, damaged: 25)),
        Sample(ValuePage(request: 20, isAnnouncedReset: true, epoch: 0, run: .max, through: 0)),
        Sample(ValuePage(request: 20, epoch: 0, through: 0)),
        Sample(Announced(request: 20, sequence: 1 << 53 - 1, subscribers: .max)),
        Sample(Withdraw(request: 20, name: "a.b", object: "ø", headers: [1, 2, 3])),
        Sample(
            Withdraw(
                request: .max, name: String(repeating: "n", count: 255), object: String(repeating: "o", count: 255))),
        Sample(Withdraw(request: 20, name: "")),
        Sample(Find(request: 20, position: .age(microseconds: 7))),
        Sample(Found(request: 20, sequence: 21, last: .max)),
        Sample(ListEnd(request: 17)),
        Sample(StatisticsRequest(request: 21)),
        Sample(LimitsRequest(request: 21)),
        Sample(Reload(request: 26)),
        Sample(Reloaded(request: 26, pendingSettings: ["socket", "log.max_bytes"])),
        Sample(Reloaded(request: 26, pendingSettings: [], problem: "the log was not repaired: é")),
        Sample(CheckRequest(request: 28, isFull: true)),
        Sample(CheckRequest(request: 28, isFull: false)),
        Sample(CheckProgress(request: 28, percent: 42)),
        Sample(
            CheckReport(
                request: 28, isFull: true, messages: 1, names: 2, segments: 3, subscriptions: 4, damagedMessages: .max,
                problemCount: 6,
                damagedRanges: [SequenceRange(first: 7, last: 8), SequenceRange(first: 10, last: .max)],
                problems: [LogProblem(.state, "ø"), LogProblem(.subscription, "")])),
        Sample(
            CheckReport(
                request: 28, isFull: false, damagedMessages: 0, problemCount: 0, damagedRanges: [], problems: [])),
        Sample(PolicyQuery(request: 27, uid: 28, gid: 29, groups: [30, .max], right: .manage, name: "hr.>")),
        Sample(PolicyQuery(request: 27, uid: 0, gid: 0, groups: [], right: .post, name: "")),
        Sample(BackupRequest(request: 28, target: FileLocation(device: 1, inode: .max, name: "a.db"))),
        Sample(BackupRequest(request: 28, target: FileLocation(device: 0, inode: 0, name: ""))),
        Sample(BackupReady(request: 28, bytes: 1 << 40)),
        Sample(BackupChunkRequest(request: 28, offset: .max)),
        Sample(BackupChunk(request: 28, bytes: ByteBuffer(bytes: [1, 2, 3]))),
        Sample(PolicyDecision(request: 27, isAllowed: true, reason: "rule")),
        Sample(PolicyDecision(request: 27, isAllowed: false, reason: String(repeating: "é", count: 40_000))),
        Sample(
            StatisticsReport(request: 21, counters: [.init(name: "gaps", value: .max), .init(name: "", value: 0)])),
        Sample(
            ErrorFrame(
                request: 22, code: .subscriptionHeld, subscription: 23, detail: 24, message: "pid 24 hält es",
                isFatal: true)),
        Sample(ErrorFrame(code: .notDelivered, message: "")),
        Sample(Closing(lastRequest: 25)),
    ]
}

@Suite struct ControlFrameTests {
    @Test(arguments: Sample.all)
    func `a frame is decoded as encoded`(_ sample: Sample) throws {
        #expect(sample.bytes[4] == sample.kind.rawValue)
        #expect(try sample.isEqualAfterDecoding())
        #expect(try sample.recode(sample.bytes) == sample.bytes)
    }

    @Test func `every kind has a sample`() {
        let readInPlace: Set<FrameKind> = [
            .post, .deliver, .run, .redelivery, .ask, .serviceCall, .respond, .setValue, .announce,
        ]
        #expect(Set(Sample.all.map(\.kind)).union(readInPlace) == Set(FrameKind.allCases))
    }

    /// The frames whose last field extends to the end of the body, so that it may have any length.
    private static let openFrames: Set<FrameKind> = [.error, .backupChunk, .serviceReply, .withdraw]

    /// The header states the length of the truncated body. The epoch at the end of a welcome may be missing.
    @Test(arguments: Sample.all.filter { !openFrames.contains($0.kind) })
    func `a body truncated at any byte is malformed`(_ sample: Sample) throws {
        let body = Array(sample.bytes[8...])
        for count in 0..<body.count where sample.kind != .welcome || count != body.count - 8 {
            let cut = rawFrame(sample.kind.rawValue, flags: sample.bytes[5], Array(body[..<count]))
            #expect(throws: WireError.truncated, "cut at \(count)") { try sample.recode(cut) }
        }
    }

    @Test func `an error frame truncated before its message is malformed`() throws {
        let body = Array(ErrorFrame(code: .closing, message: "bye").encoded[8...])
        for count in 0..<24 {
            #expect(throws: WireError.truncated) { try ErrorFrame.decode(rawFrame(0x60, Array(body[..<count]))) }
        }
        for count in 24...27 {
            let error = try ErrorFrame.decode(rawFrame(0x60, Array(body[..<count])))
            #expect(error.message == String("bye".prefix(count - 24)))
        }
    }

    /// Excludes greetings, because later versions may extend them.
    @Test(arguments: Sample.all.filter { !openFrames.union([.hello, .welcome]).contains($0.kind) })
    func `bytes after the fields make a frame malformed`(_ sample: Sample) throws {
        let longer = rawFrame(sample.kind.rawValue, flags: sample.bytes[5], Array(sample.bytes[8...]) + [0])
        let error = try #require(throws: WireError.self) { try sample.recode(longer) }
        #expect(error.code == .malformedFrame)
        #expect(error.message.contains("1 bytes"))
    }

    @Test(arguments: Sample.all.filter { [.hello, .welcome].contains($0.kind) })
    func `greetings of later versions may be longer`(_ sample: Sample) throws {
        let longer = rawFrame(sample.kind.rawValue, Array(sample.bytes[8...]) + [1, 2, 3])
        #expect(try sample.recode(longer) == sample.bytes)
    }

    @Test(arguments: Sample.all)
    func `flags of later versions are refused in requests only`(_ sample: Sample) throws {
        let flagged = rawFrame(sample.kind.rawValue, flags: sample.bytes[5] | 0x80, Array(sample.bytes[8...]))
        if sample.kind.isFromDaemon || sample.kind == .hello {
            #expect(try sample.recode(flagged) == sample.bytes)
        } else {
            let error = try #require(throws: WireError.self) { try sample.recode(flagged) }
            #expect(error.code == .unsupported)
        }
    }

    @Test func `reserved fields are ignored`() throws {
        var bytes = Subscribed(request: 1, subscription: 2, sequence: 3, isResumed: false).encoded
        bytes.replaceSubrange(6...7, with: [0xFF, 0xFF])
        bytes.replaceSubrange(20...23, with: [1, 2, 3, 4])
        #expect(
            try Subscribed.decode(bytes) == Subscribed(request: 1, subscription: 2, sequence: 3, isResumed: false))
    }

    @Test func `kinds and codes are unique and not zero`() {
        #expect(FrameKind.allCases.allSatisfy { $0.rawValue != 0 })
        #expect(ErrorCode.allCases.allSatisfy { $0.rawValue != 0 })
        #expect(FrameKind.allCases.filter { !$0.isFromDaemon }.count == 41)
    }
}
