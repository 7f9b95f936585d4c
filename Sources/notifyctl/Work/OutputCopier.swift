import Glibc
import NIOCore
import SystemPackage

/// Copies the output of a command to a descriptor without blocking. While the descriptor's reader does not read, the
/// output of this command is not read either, and other commands continue.
final class OutputCopier: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// The maximum number of bytes of one write. A pipe that polls as writable accepts this many bytes without blocking
    /// (`PIPE_BUF`).
    private static let pieceBytes = 4_096
    private static let pause = TimeAmount.milliseconds(10)

    private let descriptor: Int32
    private let tail: OutputTail
    /// The bytes that were read and not written yet.
    private var rest = ByteBuffer()
    private var exit: CommandExit?
    private var isPaused = false

    init(_ descriptor: Int32, _ tail: OutputTail) {
        self.descriptor = descriptor
        self.tail = tail
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        tail.append(bytes.readableBytesView)
        exit?.bytes -= bytes.readableBytes
        rest.writeBuffer(&bytes)
        write(on: context.channel)
    }

    func channelInactive(context: ChannelHandlerContext) {
        exit?.bytes = 0
        write(on: context.channel)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let exit = event as? CommandExit else { return }
        self.exit = exit
        write(on: context.channel)
    }

    private func write(on channel: any Channel) {
        guard !isPaused else { return }
        while rest.readableBytes > 0 {
            guard writePiece() else { return pause(channel) }
        }
        rest.clear()
        guard let exit, exit.bytes <= 0 else { return }
        exit.printed.succeed()
        self.exit = nil
    }

    /// Writes some bytes. If they can't be written, drops all.
    ///
    /// - Returns: False if the reader must read first.
    private func writePiece() -> Bool {
        guard Blocking.poll([(descriptor, Int32(POLLOUT))], isWaiting: false)[0] != 0 else { return false }
        do {
            let count = try rest.withUnsafeReadableBytes { bytes in
                try SystemPackage.FileDescriptor(rawValue: descriptor).write(
                    UnsafeRawBufferPointer(rebasing: bytes.prefix(Self.pieceBytes)))
            }
            rest.moveReaderIndex(forwardBy: count)
        } catch Errno.resourceTemporarilyUnavailable {
            return false
        } catch {
            rest.clear()
        }
        return true
    }

    /// Stops reading until the bytes were written.
    private func pause(_ channel: any Channel) {
        isPaused = true
        _ = try? channel.syncOptions?.setOption(.autoRead, value: false)
        _ = channel.eventLoop.assumeIsolated().scheduleTask(in: Self.pause) {
            self.isPaused = false
            self.write(on: channel)
            if !self.isPaused { _ = try? channel.syncOptions?.setOption(.autoRead, value: true) }
        }
    }
}
