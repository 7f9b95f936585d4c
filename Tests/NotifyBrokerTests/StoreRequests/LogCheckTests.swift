import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Requests for the known damage of the log, and for a full check.
struct LogCheckTests {
    private static func reports(_ client: Client) -> [CheckReport] {
        client.take().compactMap { if case .checkReport(let frame) = $0 { frame } else { nil } }
    }

    private static var findings: LogFindings {
        var findings = LogFindings()
        findings.messages = 10
        findings.addDamagedMessage(4)
        findings.add(.name, "the name with the id 1 is damaged")
        return findings
    }

    @Test func `a check reports damage that readers have found`() throws {
        let host = TestHost()
        let client = host.connect(uid: 0)
        client.send(CheckRequest(request: client.nextRequest(), isFull: false))
        host.run()
        let sound = try #require(Self.reports(client).first)
        #expect(sound.damagedMessages == 0 && sound.problemCount == 0 && !sound.isFull)
        host.core.broker.noteDamage([7, 8, 20])
        host.core.broker.noteDamage([7, 9])
        client.send(CheckRequest(request: client.nextRequest(), isFull: false))
        host.run()
        let report = try #require(Self.reports(client).first)
        #expect(report.damagedMessages == 4)
        #expect(report.damagedRanges == [SequenceRange(first: 7, last: 9), SequenceRange(first: 20, last: 20)])
    }

    @Test func `a check tests whether storing works, and reports why not`() throws {
        let host = TestHost()
        let client = host.connect(uid: 0)
        client.send(CheckRequest(request: client.nextRequest(), isFull: false))
        client.send(CheckRequest(request: client.nextRequest(), isFull: false))
        host.runTicks()
        #expect(Self.reports(client).isEmpty)
        host.work(failingWith: StorageFailure(kind: .inputOutput, message: "the database was deleted"))
        host.runTicks()
        let reports = Self.reports(client)
        #expect(reports.count == 2)
        for report in reports {
            #expect(report.problems == [LogProblem(.storage, "the database was deleted")])
            #expect(report.problemCount == 0)
        }
        // The problem is known from now on.
        for isFull in [false, true] {
            client.send(CheckRequest(request: client.nextRequest(), isFull: isFull))
            host.runTicks()
            if isFull { host.answerCheck(.checked(LogFindings())) }
            host.runTicks()
            #expect(
                Self.reports(client).first?.problems == [LogProblem(.storage, "the database was deleted")], "\(isFull)")
        }
    }

    @Test func `a check does not wait for a disk that does not respond`() throws {
        let host = TestHost()
        let client = host.connect(uid: 0)
        client.send(CheckRequest(request: client.nextRequest(), isFull: false))
        host.runTicks()
        host.advance(StorageHealth.responseTimeout)
        host.runTicks()
        #expect(Self.reports(client).first?.problems.map(\.part) == [.storage])
    }

    @Test func `a check reports a reload that has failed`() {
        let host = TestHost()
        let client = host.connect(uid: 0)
        host.core.broker.configurationProblem = "/etc/notifyd.yaml:1: unknown key"
        client.send(CheckRequest(request: client.nextRequest(), isFull: false))
        host.run()
        #expect(
            Self.reports(client).first?.problems == [LogProblem(.configuration, "/etc/notifyd.yaml:1: unknown key")])
    }

    @Test func `the statistics have the number and the bounds of the known damage`() {
        let host = TestHost()
        func counters() -> [UInt64?] {
            ["damaged_messages", "first_damaged_sequence", "last_damaged_sequence"].map { host.counter($0) }
        }
        #expect(counters() == [0, 0, 0])
        for _ in 0..<3 { host.core.broker.noteDamage([7, 20]) }
        #expect(counters() == [2, 7, 20])
        host.runTicks()
        #expect(host.warnings.count == 1)
        var deletion = Deletion()
        deletion.emptied = [SequenceRange(first: 1, last: 10)]
        host.core.broker.deleted(deletion, now: host.now)
        #expect(counters() == [1, 20, 20])
        host.core.broker.logReplaced()
        #expect(counters() == [0, 0, 0])
    }

    @Test func `damage that several reads find counts once`() {
        var findings = LogFindings()
        for _ in 0..<2 { findings.add(.database, "database disk image is malformed") }
        findings.add(.name, "the name with the id 1 is damaged")
        #expect(findings.problemCount == 2)
        #expect(findings.problems.map(\.part) == [.database, .name])
    }

    @Test func `damaged messages beyond the limit of the list are counted by a full check only`() {
        var damage = KnownDamage()
        let isNew = [false, true].map { _ in
            damage.note((0..<300).map { UInt64($0) * 2 + 1 })
        }
        #expect(isNew == [true, false])
        #expect(damage.messages == 256)
        var findings = LogFindings()
        for sequence in 0..<300 { findings.addDamagedMessage(UInt64(sequence) * 2 + 1) }
        damage.checked(findings)
        #expect(damage.messages == 300)
    }

    @Test func `damaged messages that are deleted during a check are in its report, but not known later`() throws {
        let host = TestHost()
        let client = host.connect(uid: 0)
        host.store.findings = Self.findings
        client.send(CheckRequest(request: client.nextRequest(), isFull: true))
        host.runTicks()
        var deletion = Deletion()
        deletion.emptied = [SequenceRange(first: 4, last: 4)]
        host.core.broker.deleted(deletion, now: host.now)
        host.run()
        #expect(try #require(Self.reports(client).last).damagedMessages == 1)
        #expect(host.counter("damaged_messages") == 0)
    }

    @Test func `a damaged log is reported with its failure`() throws {
        let host = TestHost()
        let client = host.connect(uid: 0)
        host.core.broker.storageFailed(StorageFailure(kind: .damaged, message: "the log is damaged"), now: host.now)
        client.send(CheckRequest(request: client.nextRequest(), isFull: false))
        host.runTicks()
        let report = try #require(Self.reports(client).first)
        #expect(report.problems == [LogProblem(.database, "the log is damaged")])
        #expect(report.problemCount == 1)
    }

    @Test func `a full check is made once for all requests, and its result is known afterwards`() throws {
        let host = TestHost()
        let (first, second) = (host.connect(uid: 0), host.connect(uid: 0))
        host.store.findings = Self.findings
        for client in [first, second] { client.send(CheckRequest(request: client.nextRequest(), isFull: true)) }
        host.runTicks()
        let checks = host.store.jobs.filter { if case .check? = $0.work { true } else { false } }
        #expect(checks.count == 1)
        host.answerCheck(.checkAdvanced(percent: 42))
        host.runTicks()
        #expect(first.take() == [.checkProgress(CheckProgress(request: 1, percent: 42))])
        host.run()
        for client in [first, second] {
            let report = try #require(Self.reports(client).last)
            #expect(report.isFull && report.messages == 10 && report.damagedMessages == 1)
            #expect(report.problems.map(\.part) == [.name])
        }
        #expect(host.warnings.contains { $0.contains("1 damaged messages and 1 other problems") })
        first.send(CheckRequest(request: first.nextRequest(), isFull: false))
        host.run()
        #expect(try #require(Self.reports(first).first).problemCount == 1)
        first.send(CheckRequest(request: first.nextRequest(), isFull: true))
        host.runTicks()
        #expect(!host.store.jobs.isEmpty)
    }

    @Test func `waiting checks are limited, and end with their connections`() throws {
        let host = TestHost()
        let clients = (0...Broker.maximumLogChecks).map { _ in host.connect(uid: 0) }
        for client in clients { client.send(CheckRequest(request: client.nextRequest(), isFull: true)) }
        host.runTicks()
        #expect(clients.flatMap { $0.takeErrors() }.map(\.code) == [ErrorCode.limitReached.rawValue])
        for client in clients { host.closed(client) }
        #expect(host.core.broker.storeRequests.unansweredCount(of: .check) == 0)
        host.run()
        #expect(!host.core.broker.storeRequests.isWorking(on: .check))
    }

    @Test func `a check needs the right to manage everything, and ends when the daemon stops`() throws {
        let host = TestHost()
        let user = host.connect(uid: 1001)
        for isFull in [false, true] { user.send(CheckRequest(request: user.nextRequest(), isFull: isFull)) }
        host.run()
        #expect(user.takeErrors().map(\.code) == [ErrorCode.forbidden.rawValue, ErrorCode.forbidden.rawValue])
        let root = host.connect(uid: 0)
        root.send(CheckRequest(request: root.nextRequest(), isFull: true))
        host.runTicks()
        host.drain()
        host.runTicks()
        #expect(root.takeErrors().map(\.code) == [ErrorCode.closing.rawValue])
    }
}

extension TestHost {
    /// Reports an answer to the check of the log.
    fileprivate func answerCheck(_ answer: StoreAnswer) {
        core.broker.stored(answer, for: .request(.check), now: now)
    }
}
