import NIOCore
import NotifySystem
import SystemPackage

extension PeerCredentials {
    /// Reads the credentials of the process at the other end of a connection that was just accepted, and sets
    /// close-on-exec on its socket. Must be called on the channel's event loop.
    init(ofAccepted channel: any Channel) throws {
        let credentials = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { socket in
            CloseOnExec.set(socket)
            return try PeerCredentials(of: SystemPackage.FileDescriptor(rawValue: socket))
        }
        guard let credentials else { throw ChannelError.operationUnsupported }
        self = credentials
    }
}
