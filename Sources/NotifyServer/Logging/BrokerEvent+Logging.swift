import Logging
import NotifyBroker
import NotifyWire

extension LogDetail {
    /// The detail that a logger of this level writes.
    init(_ level: Logger.Level) {
        switch level {
        case .trace: self = .trace
        case .debug: self = .debug
        case .info, .notice, .warning, .error, .critical: self = .none
        }
    }
}

extension Logger {
    /// Logs an event of a connection, with the peer's uid and pid.
    func log(_ event: BrokerEvent) {
        let (message, details) = event.kind.text
        var metadata: Metadata = [
            "connection": "\(event.connection.slot.index).\(event.connection.generation)", "uid": "\(event.uid)",
            "pid": "\(event.pid)",
        ]
        metadata.merge(details) { $1 }
        log(level: Level(event.detail), "\(message)", metadata: metadata)
    }
}

extension Logger.Level {
    fileprivate init(_ detail: LogDetail) {
        switch detail {
        case .none: self = .notice
        case .debug: self = .debug
        case .trace: self = .trace
        }
    }
}

extension BrokerEvent.Kind {
    fileprivate var text: (String, Logger.Metadata) {
        switch self {
        case .connected: return ("connected", [:])
        case .disconnected: return ("disconnected", [:])
        case .subscribed(let number, let patterns, let object, let durableName):
            var details: Logger.Metadata = [
                "subscription": "\(number)", "patterns": "\(patterns.joined(separator: " "))",
            ]
            if let object { details["object"] = "\(object)" }
            if let durableName { details["durable"] = "\(durableName)" }
            return ("subscribed", details)
        case .detached(let number): return ("detached", ["subscription": "\(number)"])
        case .removed(let name, let uid):
            return ("removed durable subscription", ["durable": "\(name)", "owner": "\(uid)"])
        case .forbidden(let message, let omitted):
            return ("forbidden: \(message)", omitted == 0 ? [:] : ["omitted": "\(omitted)"])
        case .refused(let request, let code, let message, let isFatal):
            let details: Logger.Metadata = ["request": "\(request)", "code": "\(code)"]
            return ("\(isFatal ? "closed" : "refused"): \(message)", details)
        case .posted(let request, let name, let object, let payloadBytes, let durability):
            var details: Logger.Metadata = [
                "request": "\(request)", "name": "\(name)", "bytes": "\(payloadBytes)", "durability": "\(durability)",
            ]
            if !object.isEmpty { details["object"] = "\(object)" }
            return ("post", details)
        case .requested(let kind, let request): return ("\(kind)", ["request": "\(request)"])
        case .received(let kind, let number): return ("\(kind)", ["subscription": "\(number)"])
        }
    }
}
