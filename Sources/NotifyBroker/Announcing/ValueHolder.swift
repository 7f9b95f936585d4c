import NotifyWire

/// What holds a name and object that a client wants to announce, set or clear.
enum ValueHolder {
    /// A stored value, or one whose change is not committed yet.
    case stored
    /// The process that has announced the value.
    case connected(UInt32)
    /// The process that has announced the value, and whose connection has ended.
    case absent(UInt32)

    /// The process; 0 for a stored value.
    var pid: UInt32 {
        switch self {
        case .stored: 0
        case .connected(let pid), .absent(let pid): pid
        }
    }

    var error: WireError {
        WireError(.valueInUse, text)
    }

    private var text: String {
        switch self {
        case .stored: "there is a stored value, or it is being changed: clear it first, or choose another name"
        case .connected(let pid):
            "the value is announced by the process \(pid), and ends with its connection: wait for that, announce it with "
                + "takeover, or choose another name"
        case .absent(let pid):
            "the value was announced by the process \(pid), whose connection has ended, and stays until its grace period "
                + "has passed: wait for that, announce it with takeover, or choose another name"
        }
    }
}
