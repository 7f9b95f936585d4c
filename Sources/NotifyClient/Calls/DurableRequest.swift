import NIOCore
import NotifyWire

/// A request whose answer describes a durable subscription.
struct DurableRequest: Sendable {
    enum Action: Sendable {
        case describe
        case create(SubscriptionSpec)
        case reset(LogPosition)
        case edit(patterns: [String])
        case configure(DurableSettingChanges)
    }

    let name: String
    /// The owner; `Remove.ownUID` for this user.
    let uid: UInt32
    let action: Action

    /// - Throws: `invalidSubscriptionName`, or `invalidArgument` for a uid that no user has.
    init(_ action: Action, _ name: String, uid: UInt32?) throws(NotifyError) {
        try Self.check(name, uid: uid)
        self.action = action
        self.name = name
        self.uid = uid ?? Remove.ownUID
    }

    static func check(_ name: String, uid: UInt32?) throws(NotifyError) {
        do {
            try Limits.validateSubscriptionName(name)
        } catch {
            throw NotifyError(error)
        }
        guard uid != Remove.ownUID else {
            throw NotifyError(.invalidArgument, "\(Remove.ownUID) is not the uid of a user; omit it for your own")
        }
    }

    /// Whether the request changes the subscription.
    var isChange: Bool {
        if case .describe = action { false } else { true }
    }

    func write(request: UInt64, to buffer: inout ByteBuffer) {
        switch action {
        case .describe: Describe(request: request, uid: uid, durableName: name).write(to: &buffer)
        case .create(let spec): spec.creation(request: request).write(to: &buffer)
        case .reset(let position):
            Reset(request: request, uid: uid, durableName: name, to: position).write(to: &buffer)
        case .edit(let patterns):
            Edit(request: request, uid: uid, durableName: name, patterns: patterns).write(to: &buffer)
        case .configure(let changes):
            Configure(request: request, uid: uid, durableName: name, changes: changes).write(to: &buffer)
        }
    }
}
