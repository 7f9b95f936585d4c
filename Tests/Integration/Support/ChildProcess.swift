import Foundation
import NotifySystem
import Synchronization
import SystemPackage

/// A program started for a test. Its output can be awaited. The program is killed when this object is released.
final class ChildProcess: Sendable {
    enum Exit: Equatable, Sendable {
        case status(Int32)
        case signal(Int32)
    }

    /// The bytes that the program has written to one of its outputs so far.
    struct Output: Sendable, CustomStringConvertible {
        var bytes: [UInt8] = []
        /// The number of newlines in `bytes`, counted on arrival so that waiting for many lines is cheap.
        var lineCount = 0
        var isAtEnd = false

        var text: String { String(decoding: bytes, as: UTF8.self) }
        /// The complete lines. Once the output has ended, they include an unterminated last line.
        var lines: [Substring] {
            var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            if !isAtEnd || lines.last?.isEmpty == true { lines.removeLast() }
            return lines
        }
        var description: String { "«\(text.suffix(2000))»\(isAtEnd ? " (output ended)" : "")" }
    }

    enum Input: Sendable {
        case none
        case text(String)
        case file(String)
        /// A descriptor that is duplicated for the child. The test keeps the original.
        case descriptor(Int32)
        /// A pipe that is open until `closeInput`.
        case pipe
    }

    let pid: pid_t
    let standardOutput = Watched(Output())
    let standardError = Watched(Output())
    private let exit = Watched<Exit?>(nil)
    private let inputPipe: Mutex<Int32?>

    /// Starts `path`. `environment` is merged into the test's own environment; nil removes a variable.
    init(
        _ path: String, _ arguments: [String], environment: [String: String?] = [:], input: Input = .none
    ) throws {
        let output = try Pipe()
        let errors = try Pipe()
        let (inputRead, inputWrite) = try Self.open(input)
        let descriptors = [inputRead, output.write, errors.write]
        defer { descriptors.forEach { close($0) } }
        pid = try Self.spawn(path, arguments, environment, descriptors: descriptors)
        inputPipe = Mutex(inputWrite)
        Self.collect(output.read, into: standardOutput)
        Self.collect(errors.read, into: standardError)
        if case .text(let text) = input { feed(text) }
        reap()
    }

    deinit {
        send(SIGCONT)
        send(SIGKILL)
        closeInput()
    }

    // MARK: Using

    /// Sends a signal, unless the program has ended.
    func send(_ signal: Int32) {
        // Under the lock, either `exit` is set or the process has not been reaped, so the id can't belong to another
        // process.
        exit.update { exit in
            if exit == nil { kill(pid, signal) }
        }
    }

    @discardableResult
    func waitForExit(within limit: Duration = .seconds(300)) async throws -> Exit {
        do {
            return try await exit.wait("the end of process \(pid)", within: limit) { $0 }
        } catch {
            throw TimedOut(description: "\(error); standard error \(standardError.current)")
        }
    }

    var hasExited: Bool { exit.current != nil }

    /// Waits for `count` lines of standard output, and returns all lines.
    func waitForLines(_ count: Int, within limit: Duration = .seconds(300)) async throws -> [Substring] {
        try await standardOutput.wait("\(count) lines", within: limit) { $0.lineCount >= count ? $0 : nil }.lines
    }

    /// Writes to the standard input, which must be a `.pipe`. May block until the program reads.
    func write(_ text: String) throws {
        guard let descriptor = inputPipe.withLock({ $0 }) else { return }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw Errno.last }
            rest = rest.dropFirst(count)
        }
    }

    func closeInput() {
        inputPipe.withLock { descriptor in
            if let open = descriptor { close(open) }
            descriptor = nil
        }
    }

    // MARK: Starting

    private struct Pipe {
        let read: Int32
        let write: Int32

        init() throws {
            var ends: [Int32] = [0, 0]
            guard pipe(&ends) == 0 else { throw Errno.last }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            (read, write) = (ends[0], ends[1])
        }
    }

    private static func open(_ input: Input) throws -> (read: Int32, write: Int32?) {
        switch input {
        case .none: return (Foundation.open("/dev/null", O_RDONLY | O_CLOEXEC), nil)
        case .file(let path):
            let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw Errno.last }
            return (descriptor, nil)
        case .descriptor(let descriptor):
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
            guard copy >= 0 else { throw Errno.last }
            return (copy, nil)
        case .text, .pipe:
            let pipe = try Pipe()
            return (pipe.read, pipe.write)
        }
    }

    private static func spawn(
        _ path: String, _ arguments: [String], _ changes: [String: String?], descriptors: [Int32]
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, descriptor) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
        }
        try closeOthers(&actions)

        // Resets the actions of signals, as if a shell started the program: libraries in the test process ignore
        // SIGPIPE.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var defaults = sigset_t()
        sigfillset(&defaults)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        var mask = sigset_t()
        sigemptyset(&mask)
        posix_spawnattr_setsigmask(&attributes, &mask)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))

        var variables = ProcessInfo.processInfo.environment
        for (name, value) in changes { variables[name] = value }
        var pid: pid_t = 0
        let code = withCStrings([path] + arguments) { argv in
            withCStrings(variables.map { "\($0)=\($1)" }) { envp in
                posix_spawnp(&pid, path, &actions, &attributes, argv, envp)
            }
        }
        guard code == 0 else { throw Errno(rawValue: code) }
        return pid
    }

    /// Closes the descriptors of the test process in the child. Foundation sets the close-on-exec flag neither on its
    /// pipes nor on the sockets by which it detects the end of its own children. A child that inherits such a socket
    /// would delay this detection.
    private static func closeOthers(_ actions: inout posix_spawn_file_actions_t) throws {
        typealias CloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
        // Swift does not import declarations that the header restricts to GNU sources.
        guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else { throw Errno.noFunction }
        let code = unsafeBitCast(symbol, to: CloseFrom.self)(&actions, 3)
        guard code == 0 else { throw Errno(rawValue: code) }
    }

    private static func withCStrings<Result>(
        _ strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) } + [nil]
        defer { pointers.forEach { free($0) } }
        return body(&pointers)
    }

    private static func collect(_ descriptor: Int32, into output: Watched<Output>) {
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                guard count > 0 else { break }
                let new = buffer[..<count]
                output.update { output in
                    output.bytes += new
                    output.lineCount += new.count { $0 == UInt8(ascii: "\n") }
                }
            }
            close(descriptor)
            output.update { $0.isAtEnd = true }
        }
    }

    private func feed(_ text: String) {
        Thread.detachNewThread { [self] in
            // A program that ends before it has read everything is not a failure of the test.
            try? write(text)
            closeInput()
        }
    }

    private func reap() {
        Thread.detachNewThread { [pid, exit] in
            var information = siginfo_t()
            while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
            exit.update { exit in
                var status: Int32 = 0
                waitpid(pid, &status, 0)
                exit = status & 0x7F == 0 ? .status(status >> 8 & 0xFF) : .signal(status & 0x7F)
            }
        }
    }
}
