// The texts of the declarations beside the protocol.

extension ProtocolModel {
    /// The class that hands each call on.
    var broadcaster: String {
        let members = requirements.map { $0.implementation(in: self) } + (isCodable ? [dispatch] : [])
        // No more than there are, so that who is unregistered for each of them is not there any more.
        let all = requirements.isEmpty ? ".max" : "0x" + String(UInt64.max >> (64 - requirements.count), radix: 16)
        return """
            /// Hands each call of `\(name)` to every receiver that is registered, in order of registration.
            \(attributes)\(level)\(isolation)final class \(broadcasterName): \(name), NotifyBroadcast.Broadcaster {
                private let receivers = NotifyBroadcast.BroadcastReceivers<any \(name)>()

                \(access)nonisolated init() {}

                /// How many receivers live.
                \(access)var receiverCount: Swift.Int {
                    receivers.count
                }

                /// Registers a receiver, which is held weakly, for all methods or for some.
                \(access)func register(_ receiver: any \(name), for methods: \(methodSetName) = .init(rawValue: \(all))) {
                    receivers.add(receiver, for: methods) { [weak receiver] in
                        receiver
                    }
                }

                /// Ends a receiver's registration for all methods or for some.
                \(access)func unregister(_ receiver: any \(name), for methods: \(methodSetName) = .init(rawValue: .max)) {
                    receivers.remove(receiver, for: methods)
                }\(members.map { "\n\n\(indented($0))" }.joined())
            }
            """
    }

    /// The set from which registrations choose.
    var methodSet: String {
        let members = requirements.enumerated().map { index, requirement in
            """
                \(access)static var \(requirement.memberName): \(methodSetName) {
                    \(methodSetName)(rawValue: 1 << \(index))
                }
            """
        }
        return """
            /// Methods of `\(name)`, to register receivers for.
            \(attributes)\(level)nonisolated struct \(methodSetName): Swift.OptionSet, Swift.Sendable {
                \(access)let rawValue: Swift.UInt64

                \(access)init(rawValue: Swift.UInt64) {
                    self.rawValue = rawValue
                }\(members.map { "\n\n\($0)" }.joined())
            }
            """
    }

    /// The empty defaults of optional requirements, or nil if there are none.
    func defaults(extending type: String) -> String? {
        let members = requirements.filter(\.isOptional).map { $0.emptyDefault(access: access) }
        if members.isEmpty { return nil }
        return """
            \(attributes)extension \(type) {
            \(members.map { indented($0) }.joined(separator: "\n\n"))
            }
            """
    }
}

/// The lines of a text, four spaces further in.
func indented(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false)
        .map { $0.isEmpty ? "" : "    \($0)" }
        .joined(separator: "\n")
}
