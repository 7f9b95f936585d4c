// The source of the generated declarations.

extension ProtocolModel {
    /// The class that forwards each call.
    var broadcaster: String {
        let members = requirements.map { $0.implementation(in: self) } + (isCodable ? [dispatch] : [])
        // The set has no unused bits, so that unregistering from each method ends the registration.
        let all = requirements.isEmpty ? ".max" : "0x" + String(UInt64.max >> (64 - requirements.count), radix: 16)
        return """
            /// Forwards each call of `\(name)` to every registered receiver, in order of registration.
            \(attributes)\(level)\(isolation)final class \(broadcasterName): \(name), NotifyBroadcast.Broadcaster {
                private let receivers = NotifyBroadcast.BroadcastReceivers<any \(name)>()

                \(access)nonisolated init() {}

                /// The number of registered receivers that still exist.
                \(access)var receiverCount: Swift.Int {
                    receivers.count
                }

                /// Registers a receiver, which is held weakly, for the given methods, by default for all.
                \(access)func register(_ receiver: any \(name), for methods: \(methodSetName) = .init(rawValue: \(all))) {
                    receivers.add(receiver, for: methods) { [weak receiver] in
                        receiver
                    }
                }

                /// Unregisters a receiver from the given methods, by default from all.
                \(access)func unregister(_ receiver: any \(name), for methods: \(methodSetName) = .init(rawValue: .max)) {
                    receivers.remove(receiver, for: methods)
                }\(members.map { "\n\n\(indented($0))" }.joined())
            }
            """
    }

    /// The set of methods to register for.
    var methodSet: String {
        let members = requirements.enumerated().map { index, requirement in
            """
                \(access)static var \(requirement.memberName): \(methodSetName) {
                    \(methodSetName)(rawValue: 1 << \(index))
                }
            """
        }
        return """
            /// A set of methods of `\(name)`, to register receivers for.
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

/// The lines of a text, indented by four spaces.
func indented(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false)
        .map { $0.isEmpty ? "" : "    \($0)" }
        .joined(separator: "\n")
}
