import NotifyWire

/// A request of a client that describes, changes or removes a durable subscription, also one of another user.
protocol ManagementFrame: ControlFrame {
    /// The uid of the owner, or `Remove.ownUID`.
    var uid: UInt32 { get }
    var durableName: String { get }
}

extension Configure: ManagementFrame {}
extension Describe: ManagementFrame {}
extension Edit: ManagementFrame {}
extension Remove: ManagementFrame {}
extension Reset: ManagementFrame {}
