import Glibc
import NIOCore
import NIOPosix
import Synchronization
import SystemPackage

/// Prints the output of commands, either unchanged or with the name of the message before each line. Keeps the end of
/// each output.
///
/// A command writes to a pipe, which is read on an event loop. While the reader of prefixed lines does not read, the
/// loop blocks, and commands block when their pipes are full. While the reader of unchanged output does not read, only
/// the command with this output blocks.
struct JobOutput: Sendable {
    private let loop: any EventLoop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()
    /// The tasks that wait for the event loop.
    private let waiters = AbandonableWaiters()
    private let problem = OutputProblem()

    /// The reason why lines could not be printed to standard output; nil if all lines were printed, or if the reader
    /// has closed it.
    var failure: CommandFailure? { problem.failure }

    /// A pipe of a command.
    struct Pipe: Sendable {
        /// The end that the command writes to.
        let writeEnd: SystemPackage.FileDescriptor
        fileprivate let channel: any Channel
        fileprivate let readEnd: Int32
        fileprivate let waiters: AbandonableWaiters
        /// The last bytes of the output.
        let tail: OutputTail

        /// Waits until the bytes that are in the pipe now are printed, also a line without a newline. Does not wait for
        /// the end of the pipe, nor for further bytes: a child of the command may still be writing. Does not wait after
        /// `abandon`, and only for a limited time after `limitWaits`.
        func drained() async {
            let promise = channel.eventLoop.makePromise(of: Void.self)
            channel.eventLoop.execute {
                var bytes: Int32 = 0
                // The descriptor belongs to the channel while the channel is active.
                guard channel.isActive, ioctl(readEnd, UInt(FIONREAD), &bytes) == 0 else { return promise.succeed() }
                channel.pipeline.fireUserInboundEventTriggered(CommandExit(bytes: Int(bytes), printed: promise))
            }
            _ = try? await waiters.wait(for: promise.futureResult)
        }
    }

    /// Ends the current waits for the output, and all later ones.
    func abandon() {
        waiters.abandon()
    }

    /// Limits each wait for the output to this time. For current waits, the time begins now.
    func limitWaits(to limit: Duration) {
        waiters.limitWaits(to: limit)
    }

    /// Opens a pipe whose output is printed.
    ///
    /// - Parameters:
    ///   - name: The name to print before each line; nil to print the output as it is.
    ///   - descriptor: The descriptor to print to: standard output or standard error.
    ///   - kept: Keeps the output instead of printing it; nil to print it.
    /// - Returns: The pipe; nil after `abandon`, or if the limit of waits has passed.
    func pipe(_ name: String?, to descriptor: Int32, keepingIn kept: CollectedOutput? = nil) async throws -> Pipe? {
        let (readEnd, writeEnd) = try SystemPackage.FileDescriptor.pipe(options: .closeOnExec)
        let tail = OutputTail()
        do {
            let problem = problem
            let future = NIOPipeBootstrap(group: loop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        if let kept {
                            try channel.pipeline.syncOperations.addHandler(OutputCollector(kept))
                        } else if let name {
                            let printer = LinePrinter(prefix: "\(name): ", descriptor, problem, tail)
                            try channel.pipeline.syncOperations.addHandler(printer)
                        } else {
                            try channel.pipeline.syncOperations.addHandler(OutputCopier(descriptor, tail))
                        }
                    }
                }
                .takingOwnershipOfDescriptor(input: readEnd.rawValue)
            if let channel = try await waiters.wait(for: future) {
                return Pipe(
                    writeEnd: writeEnd, channel: channel, readEnd: readEnd.rawValue, waiters: waiters, tail: tail)
            }
            try? writeEnd.close()
            return nil
        } catch {
            try? writeEnd.close()
            throw error
        }
    }
}

/// Reports to the handler of a pipe that the command of this pipe has exited.
struct CommandExit {
    /// The number of bytes that are still in the pipe.
    var bytes: Int
    /// Succeeds when the bytes are printed.
    var printed: EventLoopPromise<Void>
}

/// The first failure to write lines to standard output.
private final class OutputProblem: Sendable {
    private let error = Mutex<Errno?>(nil)

    var failure: CommandFailure? { error.withLock { $0.map { CommandFailure.unwritable("\($0)") } } }

    func set(_ error: Errno) {
        self.error.withLock { $0 = $0 ?? error }
    }
}

/// Prints each line with a prefix. A line that is longer than 64 KiB is printed in parts, each with the prefix.
private final class LinePrinter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private static let maximumBytes = 64 << 10

    private let prefix: [UInt8]
    private let descriptor: Int32
    private let problem: OutputProblem
    private let tail: OutputTail
    private var line: [UInt8] = []
    private var exit: CommandExit?

    init(prefix: String, _ descriptor: Int32, _ problem: OutputProblem, _ tail: OutputTail) {
        self.prefix = Array(prefix.utf8)
        self.tail = tail
        self.descriptor = descriptor
        self.problem = problem
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        var output: [UInt8] = []
        tail.append(bytes.readableBytesView)
        bytes.withUnsafeReadableBytes { append($0, to: &output) }
        write(output)
        exit?.bytes -= bytes.readableBytes
        endOutputAfterExit()
    }

    private func append(_ bytes: UnsafeRawBufferPointer, to output: inout [UInt8]) {
        var rest = bytes
        while let start = rest.baseAddress, !rest.isEmpty {
            let part = rest.prefix(Self.maximumBytes - line.count)
            let end = memchr(start, Int32(UInt8(ascii: "\n")), part.count).map { start.distance(to: $0) }
            line.append(contentsOf: part.prefix(end ?? part.count))
            if end != nil || line.count == Self.maximumBytes { endLine(in: &output) }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(end.map { $0 + 1 } ?? part.count))
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        exit?.bytes = 0
        endOutput()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let exit = event as? CommandExit else { return }
        self.exit = exit
        endOutputAfterExit()
    }

    private func endOutputAfterExit() {
        if let exit, exit.bytes <= 0 { endOutput() }
    }

    private func endOutput() {
        var output: [UInt8] = []
        if !line.isEmpty { endLine(in: &output) }
        write(output)
        exit?.printed.succeed()
        exit = nil
    }

    private func endLine(in output: inout [UInt8]) {
        output += prefix
        output += line
        output.append(UInt8(ascii: "\n"))
        line.removeAll(keepingCapacity: true)
    }

    /// Writes all bytes. If they can't be written, drops them.
    private func write(_ output: [UInt8]) {
        var rest = output[...]
        while !rest.isEmpty {
            do {
                let count = try rest.withUnsafeBytes {
                    try SystemPackage.FileDescriptor(rawValue: descriptor).write($0)
                }
                rest = rest.dropFirst(count)
            } catch Errno.resourceTemporarilyUnavailable {
                // Another process has made the descriptor non-blocking.
                _ = Blocking.poll([(descriptor, Int32(POLLOUT))], isWaiting: true)
            } catch Errno.brokenPipe {
                // `work` ends when the reader closes its output.
                return
            } catch {
                if descriptor == STDOUT_FILENO { problem.set(error as? Errno ?? .ioError) }
                return
            }
        }
    }
}
