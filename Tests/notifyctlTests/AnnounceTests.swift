import ArgumentParser
import Glibc
import Synchronization
import Testing

@testable import NotifyClient
@testable import notifyctl

@Suite struct AnnounceTests {
    /// A value that records its withdrawals, and is lost when `lose` is called.
    private final class FakeValue: Sendable {
        private let allWithdrawals = Mutex<[String?]>([])
        private let allReports = Mutex<[String]>([])
        private let loss = AsyncStream<NotifyError>.makeStream()
        private let refusal: NotifyError?

        init(refusingWithdrawal refusal: NotifyError? = nil) {
            self.refusal = refusal
        }

        /// The exit statuses of the withdrawals.
        var withdrawals: [String?] { allWithdrawals.withLock { $0 } }
        var reports: [String] { allReports.withLock { $0 } }

        func lose(_ error: NotifyError) { loss.continuation.yield(error) }

        func report(_ text: String) { allReports.withLock { $0.append(text) } }

        var value: AnnouncedValue {
            AnnouncedValue(name: "a.b") { [loss] in
                for await error in loss.stream { return error }
                return nil
            } withdraw: { [self] headers, _ in
                allWithdrawals.withLock { $0.append(headers[AnnouncedValue.statusHeader]) }
                if let refusal { throw refusal }
            }
        }
    }

    @Test(arguments: [0, 3, 137] as [Int32])
    func `a value is withdrawn with the exit status of the command`(status: Int32) async {
        let fake = FakeValue()
        let result = await fake.value.keep(report: fake.report) {
            #expect(fake.withdrawals.isEmpty)
            return status
        }
        #expect(result == status)
        #expect(fake.withdrawals == ["\(status)"] && fake.reports.isEmpty)
    }

    @Test func `a lost value is reported, and the command runs on`() async {
        let fake = FakeValue()
        let result = await fake.value.keep(report: fake.report) {
            fake.lose(NotifyError(.takenOver, "another process has it"))
            while fake.reports.isEmpty { await Task.yield() }
            return 4
        }
        #expect(result == 4 && fake.withdrawals.isEmpty)
        let report = "'a.b' is no longer announced: another process has it; the command runs on"
        #expect(fake.reports == [report])
    }

    @Test func `a withdrawal that is not confirmed is reported, and does not change the status`() async {
        let fake = FakeValue(refusingWithdrawal: NotifyError(.timedOut, "no answer"))
        #expect(await fake.value.keep(report: fake.report) { 5 } == 5)
        #expect(fake.reports == ["it is not confirmed that 'a.b' was withdrawn: no answer"])
    }

    @Test func `without a command, a value is withdrawn after a signal`() async throws {
        let (fake, interruption) = (FakeValue(), Interruption())
        interruption.interrupt(.signal)
        try await fake.value.keep(until: interruption)
        #expect(fake.withdrawals == [nil])
    }

    @Test func `without a command, the loss of the value is an error`() async {
        let fake = FakeValue()
        fake.lose(NotifyError(.takenOver, "another process has it"))
        let error = await #expect(throws: NotifyError.self) { try await fake.value.keep(until: Interruption()) }
        #expect(error?.code == .takenOver && fake.withdrawals.isEmpty)
    }

    private func parse(_ arguments: String) throws -> any ParsableCommand {
        try ProgramArguments.parse(arguments.split(separator: " ").map(String.init))
    }

    @Test func `the command of 'announce' follows two hyphens`() throws {
        let announce = try #require(try parse("announce a b --grace 5s --will c -- sh -c x") as? AnnounceCommand)
        #expect(announce.name == "a" && announce.body == "b" && announce.announcement.will == "c")
        #expect(announce.announcement.grace == .seconds(5) && !announce.announcement.takeover)
        #expect(announce.program == ["sh", "-c", "x"])
        let alone = try #require(try parse("announce a --takeover -H k:v --object o") as? AnnounceCommand)
        #expect(alone.body == nil && alone.announcement.takeover && alone.object == "o" && alone.program.isEmpty)
        #expect(alone.header == [try Header(argument: "k:v")])
    }

    @Test(arguments: ["--retain", "--lines", "--json", "--durability stored", "--retain --if-sequence 0"])
    func `'post --ephemeral' refuses options of stored messages and of many messages`(option: String) {
        let error = #expect(throws: (any Error).self) { try parse("post a --ephemeral \(option)") }
        let message = error.map { Notifyctl.message(for: $0) } ?? ""
        #expect(message.hasPrefix("--ephemeral can't be used with --retain"), "\(message)")
    }

    @Test func `'post --ephemeral' has the options of 'announce'`() throws {
        let post = try #require(try parse("post a b --ephemeral --will c --grace 5s --takeover") as? PostCommand)
        #expect(post.announcement.will == "c" && post.announcement.grace == .seconds(5) && post.announcement.takeover)
    }

    @Test(arguments: ["--will c", "--grace 5s", "--takeover"])
    func `'post' refuses options of announced values without --ephemeral`(option: String) {
        let error = #expect(throws: (any Error).self) { try parse("post a b \(option)") }
        #expect(error.map { Notifyctl.message(for: $0) } == "--will, --grace and --takeover need --ephemeral")
    }

    @Test func `standard input is not the content of 'announce'`() {
        let error = #expect(throws: (any Error).self) { try parse("announce a - -- cat") }
        #expect(error.map { Notifyctl.message(for: $0) }?.hasPrefix("'-' can't be read") == true)
    }

    @Test func `a command whose file is missing is status 127, and 126 if it is not executable`() {
        for (path, status) in [
            ("/nonexistent", ExitStatus.notStarted), ("no-such-program", .notStarted), ("/etc/passwd", .notExecutable),
            ("/etc", .notExecutable),
        ] {
            let error = #expect(throws: CommandFailure.self) { try AttachedProgram([path]) }
            #expect(error?.status == status && error?.message?.hasPrefix("the command '\(path)' can't be") == true)
        }
    }
}
