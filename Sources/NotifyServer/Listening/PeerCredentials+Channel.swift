import NIOCore
import NotifySystem
import SystemPackage

extension PeerCredentials {
    /// Reads the credentials of the process at the other end of a connection that was just accepted. Must be called on
    /// the channel's event loop.
    init(ofAccepted channel: any Channel) throws {
        let credentials = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { socket in
            try PeerCredentials(of: SystemPackage.FileDescriptor(rawValue: socket))
        }
        guard let credentials else { throw ChannelError.operationUnsupported }
        self = credentials
    }
}
