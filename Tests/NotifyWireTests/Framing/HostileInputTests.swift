import NIOCore
import NotifyCenter
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

/// Hostile input. Every reader succeeds or throws a `WireError`, and reads only within its input.
@Suite struct HostileInputTests {
    /// Decodes a frame by its kind, as a peer would.
    private func read(_ frame: FrameDecoder.Frame) throws {
        switch FrameKind(rawValue: frame.kind) {
        case .hello: _ = try Hello(frame)
        case .post:
            let post = try Post(frame)
            try? NotificationName.validate(utf8: post.parts.name)
            try HeaderList.validate(post.parts.headers)
        case .subscribe: _ = try Subscribe(frame)
        case .detach: _ = try Detach(frame)
        case .remove: try Limits.validateSubscriptionName(try Remove(frame).durableName)
        case .describe: _ = try Describe(frame)
        case .reset: _ = try Reset(frame)
        case .edit: _ = try Edit(frame)
        case .durableDescription: _ = try DurableDescription(frame)
        case .acknowledge: _ = try Acknowledge(frame)
        case .reject: _ = try Reject(frame)
        case .extend: _ = try Extend(frame)
        case .configure: _ = try Configure(frame)
        case .deadLetters: _ = try DeadLetters(frame)
        case .deadLettersDone: _ = try DeadLettersDone(frame)
        case .serve: _ = try Serve(frame)
        case .endServing: _ = try EndServing(frame)
        case .serving: _ = try Serving(frame)
        case .servingEnded: _ = try ServingEnded(frame)
        case .ask:
            let ask = try Ask(frame)
            try? NotificationName.validate(utf8: ask.parts.name)
            try HeaderList.validate(ask.parts.headers)
        case .cancelAsk: _ = try CancelAsk(frame)
        case .respond: try HeaderList.validate(try Respond(frame).headers)
        case .serviceCall: _ = try HeaderList.decode(try ServiceCall(frame).parts.headers)
        case .serviceReply: _ = try ServiceReply(frame)
        case .serviceCallEnded: _ = try ServiceCallEnded(frame)
        case .setValue:
            let value = try SetValue(frame)
            try? NotificationName.validate(utf8: value.post.parts.name)
            try HeaderList.validate(value.post.parts.headers)
        case .clearValues: _ = try ClearValues(frame)
        case .readValues: _ = try ReadValues(frame)
        case .valuePage: _ = try ValuePage(frame)
        case .valuesCleared: _ = try ValuesCleared(frame)
        case .announce:
            let announce = try Announce(frame)
            try? NotificationName.validate(utf8: announce.parts.name)
            if let will = announce.will { try HeaderList.validate(will.headers) }
            try HeaderList.validate(announce.parts.headers)
        case .announced: _ = try Announced(frame)
        case .withdraw: try Withdraw(frame).headers.withUnsafeBytes { try HeaderList.validate($0) }
        case .credit: _ = try Credit(frame)
        case .ping: _ = try Ping(frame)
        case .list: _ = try ListRequest(frame)
        case .statistics: _ = try StatisticsRequest(frame)
        case .limits: _ = try LimitsRequest(frame)
        case .reload: _ = try Reload(frame)
        case .reloaded: _ = try Reloaded(frame)
        case .policyQuery: _ = try PolicyQuery(frame)
        case .backup: _ = try BackupRequest(frame)
        case .backupReady: _ = try BackupReady(frame)
        case .backupChunkRequest: _ = try BackupChunkRequest(frame)
        case .backupChunk: _ = try BackupChunk(frame)
        case .policyDecision: _ = try PolicyDecision(frame)
        case .welcome: _ = try Welcome(frame)
        case .receipt: _ = try Receipt(frame)
        case .subscribed: _ = try Subscribed(frame)
        case .dropped: _ = try Dropped(frame)
        case .detached: _ = try Detached(frame)
        case .removed: _ = try Removed(frame)
        case .pong: _ = try Pong(frame)
        case .subscriptionEntry: _ = try SubscriptionEntry(frame)
        case .clientEntry: _ = try ClientEntry(frame)
        case .nameEntry: _ = try NameEntry(frame)
        case .postEntry: _ = try PostEntry(frame)
        case .traceEntry: _ = try TraceEntry(frame)
        case .durableEntry: _ = try DurableEntry(frame)
        case .monitor: _ = try MonitorRequest(frame)
        case .trace: _ = try TraceRequest(frame)
        case .readLog: _ = try ReadLog(frame)
        case .find: _ = try Find(frame)
        case .check: _ = try CheckRequest(frame)
        case .checkProgress: _ = try CheckProgress(frame)
        case .checkReport: _ = try CheckReport(frame)
        case .endRead: _ = try EndRead(frame)
        case .logPage: _ = try LogPage(frame)
        case .summarizeLog: _ = try SummarizeLog(frame)
        case .storedNameEntry: _ = try StoredNameEntry(frame)
        case .purge: _ = try Purge(frame)
        case .purged: _ = try Purged(frame)
        case .found: _ = try Found(frame)
        case .listEnd: _ = try ListEnd(frame)
        case .statisticsReport: _ = try StatisticsReport(frame)
        case .deliver:
            let delivery = try Delivery(reading: frame.body)
            _ = DeadLetterHeaders(reading: delivery.parts.headers)
            _ = HeaderList.withoutReserved(delivery.parts.headers)
            _ = try HeaderList.decode(delivery.parts.headers)
        case .run, .redelivery: _ = try Run(frame)
        case .gap: _ = try Gap(frame)
        case .deadline: _ = try DeadlineNotice(frame)
        case .error: _ = try ErrorFrame(frame)
        case .closing: _ = try Closing(frame)
        case nil: break
        }
    }

    /// Decodes all frames. Any error other than a `WireError` is rethrown and fails the test.
    private func feed(_ bytes: [UInt8], limit: Int) throws {
        let decoder = FrameDecoder(maximumBodyBytes: limit)
        var offset = 0
        while offset < bytes.count {
            do {
                let size = try bytes[offset...].withUnsafeBytes { rest -> Int? in
                    guard let frame = try decoder.next(in: rest) else { return nil }
                    do { try read(frame) } catch is WireError {}
                    return frame.size
                }
                guard let size else { return }
                offset += size
            } catch let error as WireError {
                #expect(error.code == .frameTooLarge)
                return
            }
        }
    }

    @Test func `random bytes are decoded or refused`() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("HostileInputTests: seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2_000 {
            let count = Int.random(in: 0...200, using: &generator)
            try feed((0..<count).map { _ in .random(in: 0...255, using: &generator) }, limit: 512)
        }
    }

    @Test func `random bodies in whole frames are decoded or refused`() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("HostileInputTests: seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        for kind in FrameKind.allCases {
            for _ in 0..<300 {
                let count = Int.random(in: 0...120, using: &generator)
                let body = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
                try feed(rawFrame(kind.rawValue, flags: .random(in: 0...3, using: &generator), body), limit: 512)
            }
        }
    }

    @Test func `valid frames with changed bytes are decoded or refused`() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("HostileInputTests: seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        for sample in Sample.all {
            for _ in 0..<200 {
                var bytes = sample.bytes
                for _ in 0..<Int.random(in: 1...4, using: &generator) {
                    bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
                }
                try feed(bytes + sample.bytes, limit: 1 << 17)
            }
        }
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\n\r\n", "*1\r\n$4\r\nPING\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "\u{16}\u{3}\u{1}\u{2}hello",
    ])
    func `bytes of other protocols exceed the limit before the greeting`(_ text: String) throws {
        let decoder = FrameDecoder(maximumBodyBytes: Limits.greetingBytes)
        let error = try #require(throws: WireError.self) {
            try Array(text.utf8).withUnsafeBytes { _ = try decoder.next(in: $0) }
        }
        #expect(error.code == .frameTooLarge)
    }
}
