/// The names of the resources in statistics, settings and error messages.
extension Ledger.Resource {
    /// The public name of the resource. If the resource has a limit of its own, the setting has the same name.
    var name: String {
        switch self {
        case .connections: "connections"
        case .subscriptions: "subscriptions"
        case .durableSubscriptions: "durable_subscriptions"
        case .slowConnections: "slow_connections"
        case .requests: "requests"
        case .values: "values"
        case .valueBytes: "value_bytes"
        case .connectionBytes: "connection_bytes"
        case .identityBytes: "identity_bytes"
        case .registrationBytes: "subscription_bytes"
        case .durableBytes: "durable_bytes"
        case .receivedBytes: "received_bytes"
        case .outboxBytes: "outbox_bytes"
        case .blockBytes: "block_bytes"
        case .answerBytes: "answer_bytes"
        case .pendingBytes: "pending_bytes"
        case .nameBytes: "name_bytes"
        case .requestBytes: "request_bytes"
        case .announcementBytes: "announcement_bytes"
        case .socketBytes: "socket_bytes"
        }
    }

    /// The description of the resource in error messages.
    var title: String {
        switch self {
        case .connections: "connections"
        case .subscriptions: "subscriptions"
        case .durableSubscriptions: "durable subscriptions"
        case .slowConnections: "slow connections"
        case .requests: "unanswered requests"
        case .values: "values"
        case .valueBytes: "bytes of values"
        case .connectionBytes: "bytes of connections"
        case .identityBytes: "bytes of groups"
        case .registrationBytes: "bytes of subscriptions"
        case .durableBytes: "bytes of durable subscriptions"
        case .receivedBytes: "received bytes"
        case .outboxBytes: "bytes in outboxes"
        case .blockBytes: "bytes of messages"
        case .answerBytes: "bytes of answers"
        case .pendingBytes: "bytes that wait for the disk"
        case .nameBytes: "bytes of names"
        case .requestBytes: "bytes of unanswered requests"
        case .announcementBytes: "bytes of announced values"
        case .socketBytes: "bytes in sockets"
        }
    }

    /// The advice at the end of an error message about the limit; empty for most resources.
    var advice: String {
        switch self {
        case .durableSubscriptions:
            ": use 'notifyctl durable remove' for those that are not needed, or raise the limit"
        case .values: ": clear stored values or end announced ones that are not needed, or raise the limit"
        case .valueBytes: ": use 'notifyctl clear' for values that are not needed, or raise the limit"
        default: ""
        }
    }

    /// The setting that limits the resource. Slow connections have no limit, so their setting is not used.
    var setting: String {
        switch self {
        case .connections, .subscriptions, .durableSubscriptions, .registrationBytes, .receivedBytes, .outboxBytes,
            .requests, .requestBytes, .values, .valueBytes:
            "limits.per_user.\(name)"
        case .slowConnections, .connectionBytes, .identityBytes, .durableBytes, .blockBytes, .answerBytes,
            .pendingBytes, .nameBytes, .announcementBytes, .socketBytes:
            "limits.memory_bytes"
        }
    }
}
