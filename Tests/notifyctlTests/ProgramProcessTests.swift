import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import notifyctl

@Suite struct ProgramProcessTests {
    private static func strings(_ strings: [String]) -> [UInt8] { strings.flatMap { Array($0.utf8) + [0] } }

    /// A shell that runs a script, with pipes for standard input and output.
    private final class Shell: Sendable {
        let process: ProgramProcess
        private let output: FileDescriptor

        init(
            _ script: String, _ arguments: [String] = [], environment: [String] = [], input text: String = "",
            hasOwnGroup: Bool = true, watcher: ExitWatcher = .shared
        ) throws {
            let (input, writeEnd) = try FileDescriptor.pipe(options: .closeOnExec)
            defer { try? input.close() }
            try writeEnd.closeAfter { _ = try writeEnd.writeAll(text.utf8) }
            let (readEnd, output) = try FileDescriptor.pipe(options: .closeOnExec)
            defer { try? output.close() }
            self.output = readEnd
            process = try ProgramProcess.start(
                "/bin/sh", arguments: strings(["sh", "-c", script, "sh"] + arguments),
                environment: strings(environment), input: input, output: output, error: .standardError,
                hasOwnGroup: hasOwnGroup, watcher: watcher)
        }

        deinit { try? output.close() }

        /// The output until its end.
        func read() throws -> String {
            var bytes: [UInt8] = []
            try withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 1) { buffer in
                while case let count = try output.read(into: buffer), count > 0 { bytes += buffer.prefix(count) }
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Watches processes as on a kernel without pidfds.
    private static let checking = ExitWatcher(poll: -1)

    @Test(arguments: [true, false])
    func `waiting for the end of a process returns its exit status or signal`(hasDescriptors: Bool) async throws {
        let watcher = hasDescriptors ? ExitWatcher.shared : Self.checking
        for status in [0, 1, 127, 255] as [Int32] {
            let shell = try Shell("exit $1", ["\(status)"], watcher: watcher)
            #expect(await shell.process.waitForEnd() == .exited(status))
        }
        for signal in [SIGKILL, SIGTERM, SIGPIPE] {
            let shell = try Shell("kill -$1 $$", ["\(signal)"], watcher: watcher)
            #expect(await shell.process.waitForEnd() == .signaled(signal))
        }
    }

    @Test func `the end of a process may precede the wait for it`() async throws {
        let shell = try Shell("exit 3")
        while !shell.process.hasEnded() { await Task.yield() }
        #expect(await shell.process.waitForEnd() == .exited(3))
    }

    @Test func `a process has its arguments, environment, input and output, and no other variables`() async throws {
        let shell = try Shell(
            "cat; printf '%s|' \"$@\" \"$A\" \"$B\"; env | grep -c HOME", ["", "a b"], environment: ["A=1", "B="],
            input: "input ")
        #expect(try shell.read() == "input |a b|1||0\n")
        #expect(await shell.process.waitForEnd() == .exited(1))
    }

    @Test func `signals reach the process group until the process was reaped`() async throws {
        let shell = try Shell("sleep 1000; echo never")
        #expect(!shell.process.hasEnded())
        #expect(shell.process.send(SIGTERM))
        #expect(await shell.process.waitForEnd() == .signaled(SIGTERM))
        #expect(try shell.read() == "", "its child has ended, too")
        #expect(!shell.process.send(SIGTERM))
        #expect(shell.process.hasEnded())
    }

    @Test func `a process starts with the default handling of signals that notifyctl ignores or blocks`() async throws {
        signal(SIGPIPE, SIG_IGN)
        var (blocked, before) = (sigset_t(), sigset_t())
        sigemptyset(&blocked)
        sigaddset(&blocked, SIGTERM)
        // A signal ends its shell only if the shell was started with the signal neither ignored nor blocked.
        #expect(pthread_sigmask(SIG_BLOCK, &blocked, &before) == 0)
        let shells = Result { try ["PIPE", "TERM"].map { try Shell("kill -$1 $$", [$0]) } }
        #expect(pthread_sigmask(SIG_SETMASK, &before, nil) == 0)
        for (shell, signal) in zip(try shells.get(), [SIGPIPE, SIGTERM]) {
            #expect(await shell.process.waitForEnd() == .signaled(signal))
        }
    }

    @Test func `many processes end in any order`() async throws {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<50 {
                group.addTask {
                    let shell = try Shell("exit $1", ["\(number)"])
                    return await shell.process.waitForEnd() == .exited(Int32(number))
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }

    @Test func `a process that was reaped elsewhere has ended with an unknown status`() async throws {
        // To the kernel, a process that is not a child is the same as a child that was reaped.
        let process = ProgramProcess(getpid(), hasOwnGroup: true)
        defer { close(process.descriptor) }
        #expect(process.hasEnded())
        #expect(await process.waitForEnd() == .unknown)
        #expect(!process.send(SIGCONT), "the id may be that of another process")
    }

    @Test func `signals reach a process without a process group of its own`() async throws {
        let shell = try Shell("exec sleep 1000", hasOwnGroup: false)
        #expect(shell.process.send(SIGTERM))
        #expect(await shell.process.waitForEnd() == .signaled(SIGTERM))
    }

    @Test func `the start of a file that can't be run throws the reason`() throws {
        let folder = try TemporaryFolder()
        // The empty file is created without a descriptor. A process that another test starts meanwhile would inherit a
        // writable one until it runs its program, and a file that is open for writing can't be run (`ETXTBSY`).
        try #require(mknod(folder.file("empty"), S_IFREG | 0o700, 0) == 0)
        for (path, error) in [
            ("/nonexistent", .noSuchFileOrDirectory), (folder.path, .permissionDenied),
            (folder.file("empty"), .execFormatError), ("/etc/passwd/x", .notDirectory),
        ] as [(String, Errno)] {
            #expect(throws: error) {
                try ProgramProcess.start(
                    path, arguments: Self.strings([path]), environment: [], input: .standardInput,
                    output: .standardOutput, error: .standardError)
            }
        }
    }
}
