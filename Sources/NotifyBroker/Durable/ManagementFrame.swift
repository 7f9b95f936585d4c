import NotifyWire

/// A request to describe, change or remove a durable subscription of the client's user or of another user.
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
