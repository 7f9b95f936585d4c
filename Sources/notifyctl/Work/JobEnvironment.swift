import NotifyClient

/// The environment variables that describe a message to its command.
enum JobEnvironment {
    private static let names: Set<String> = [
        "NOTIFY_NAME", "NOTIFY_OBJECT", "NOTIFY_SEQUENCE", "NOTIFY_TIME", "NOTIFY_UID", "NOTIFY_PID", "NOTIFY_DELIVERY",
    ]
    private static let headerPrefix = "NOTIFY_HEADER_"

    private static let inherited = Array(entries(inheritedFrom: OwnEnvironment.entries).joined())

    /// The entries that a command inherits, unchanged, each with a final NUL. The variables of another message are
    /// removed, because notifyctl may itself run as the command of a message. `LIBDISPATCH_LOG` is removed, because
    /// notifyctl sets it only for itself.
    static func entries(inheritedFrom environment: [[UInt8]]) -> [[UInt8]] {
        environment.filter { entry in
            let name = String(decoding: entry.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
            return !names.contains(name) && !name.hasPrefix(headerPrefix) && name != "LIBDISPATCH_LOG"
        }.map { $0 + [0] }
    }

    /// The variables of a message. Variables with a NUL are left out, because an environment can't contain them.
    private static func variables(_ message: NotificationClient.Message) -> [(name: String, value: String)] {
        var variables = variables(ofHeaders: message.headers.map { ($0.key, $0.value) }).map { ($0.key, $0.value) }
        variables.append(("NOTIFY_NAME", "\(message.name)"))
        if let object = message.object, !object.utf8.contains(0) { variables.append(("NOTIFY_OBJECT", object)) }
        variables.append(("NOTIFY_SEQUENCE", "\(message.sequence)"))
        variables.append(("NOTIFY_TIME", Timestamp.text(microseconds: message.timeMicroseconds)))
        variables.append(("NOTIFY_UID", "\(message.uid)"))
        variables.append(("NOTIFY_PID", "\(message.pid)"))
        variables.append(("NOTIFY_DELIVERY", "\(message.delivery)"))
        return variables
    }

    /// The variables of headers. Of several headers with the same variable, the last one counts. Values with a NUL are
    /// left out, because an environment can't contain them.
    static func variables(ofHeaders headers: [(key: String, value: String)]) -> [String: String] {
        var variables: [String: String] = [:]
        for (key, value) in headers where !value.utf8.contains(0) { variables[name(ofHeader: key)] = value }
        return variables
    }

    /// The variable of a header: in upper case, with `_` in place of every byte that is not a letter or digit.
    static func name(ofHeader key: String) -> String {
        let bytes = key.utf8.map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - 32
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): byte
            default: UInt8(ascii: "_")
            }
        }
        return headerPrefix + String(decoding: bytes, as: UTF8.self)
    }

    /// The environment of notifyctl with the variables of a message, each with a final NUL.
    static func of(_ message: NotificationClient.Message) -> [UInt8] {
        variables(message).reduce(into: inherited) { environment, variable in
            environment += "\(variable.name)=\(variable.value)\0".utf8
        }
    }
}
