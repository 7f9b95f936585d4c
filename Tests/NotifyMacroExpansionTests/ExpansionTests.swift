import SwiftDiagnostics
import SwiftSyntaxMacrosGenericTestSupport
import Testing

/// The expansion of the macro.
@Suite struct ExpansionTests {
    @Test func `a public protocol expands to a public broadcaster`() {
        let source = """
            @Broadcast public protocol P: AnyObject, Sendable {
                func f(_ x: Int, at y: Int)
            }
            """
        expect(
            source,
            expandsTo: """
                public protocol P: AnyObject, Sendable {
                    func f(_ x: Int, at y: Int)
                }

                /// Forwards each call of `P` to every registered receiver, in order of registration.
                public final class PBroadcaster: P, NotifyBroadcast.Broadcaster {
                    private let receivers = NotifyBroadcast.BroadcastReceivers<any P>()

                    public nonisolated init() {
                    }

                    /// The number of registered receivers that still exist.
                    public var receiverCount: Swift.Int {
                        receivers.count
                    }

                    /// Registers a receiver, which is held weakly, for the given methods, by default for all.
                    public func register(_ receiver: any P, for methods: PMethods = .init(rawValue: 0x1)) {
                        receivers.add(receiver, for: methods) { [weak receiver] in
                            receiver
                        }
                    }

                    /// Unregisters a receiver from the given methods, by default from all.
                    public func unregister(_ receiver: any P, for methods: PMethods = .init(rawValue: .max)) {
                        receivers.remove(receiver, for: methods)
                    }

                    public func f(_ x: Int, at y: Int) {
                        for receiver in receivers[PMethods.f] {
                            receiver.f(x, at: y)
                        }
                    }
                }

                /// A set of methods of `P`, to register receivers for.
                public nonisolated struct PMethods: Swift.OptionSet, Swift.Sendable {
                    public let rawValue: Swift.UInt64

                    public init(rawValue: Swift.UInt64) {
                        self.rawValue = rawValue
                    }

                    public static var f: PMethods {
                        PMethods(rawValue: 1 << 0)
                    }
                }
                """)
    }

    @Test func `a codable protocol expands to a broadcaster and a call type`() {
        let expanded = expansion(
            of: """
                @Broadcast(codable) protocol P: AnyObject, Sendable {
                    func f(_ x: Int, at y: Int)
                    @Topic("a.b") func g() async throws
                }
                """)
        let call = """
            /// A `Codable` call of `P`.
            nonisolated enum PCall: Swift.Codable, Swift.Sendable {
                case f(Int, at: Int)
                case g

                /// The encoded name of the call.
                var name: Swift.String {
                    switch self {
                    case .f:
                        "f(_:at:)"
                    case .g:
                        "a.b"
                    }
                }

                init(from decoder: any Swift.Decoder) throws {
                    let call = try NotifyBroadcast.CallDecoder(decoder)
                    switch call.name {
                    case "f(_:at:)":
                        self = try .f(call.next(), at: call.next())
                    case "a.b":
                        self = .g
                    default:
                        throw call.unknownName(in: "P")
                    }
                    try call.end()
                }

                func encode(to encoder: any Swift.Encoder) throws {
                    let call = NotifyBroadcast.CallEncoder(encoder, name: name)
                    switch self {
                    case .f(let x, let y):
                        try call.encode(x, y)
                    case .g:
                        try call.encode()
                    }
                }
            }
            """
        #expect(expanded.contains(call), "\(expanded)")
        let dispatch = """
                func dispatch(_ call: PCall) async throws {
                    switch call {
                    case .f(let x, let y):
                        self.f(x, at: y)
                    case .g:
                        try await self.g()
                    }
                }
            """
        #expect(expanded.contains(dispatch), "\(expanded)")
    }

    /// The members need a modifier only in `public` and `package` types. In other types, the default access level
    /// suffices.
    @Test(arguments: [
        ("public ", "public "), ("package ", "package "), ("fileprivate ", ""), ("private ", ""), ("internal ", ""),
        ("", ""),
    ])
    func `the generated types have the access level of the protocol`(level: String, ofMembers: String) {
        let expanded = expansion(of: "@Broadcast(codable) \(level)protocol P: AnyObject { @Optional func f() }")
        #expect(expanded.contains("\n\(level)final class PBroadcaster"))
        #expect(expanded.contains("\n\(level)nonisolated struct PMethods"))
        #expect(expanded.contains("\n\(level)nonisolated enum PCall"))
        #expect(expanded.contains("\n    \(ofMembers)func register("))
        #expect(expanded.contains("extension P {\n    \(ofMembers)func f() {\n    }\n}"), "\(expanded)")
    }

    @Test func `availability and SPI attributes are copied to the generated types`() {
        let attributes = "@available(macOS 99, *) @_spi(Own)"
        let source = "@MainActor \(attributes) @Broadcast(codable) public protocol P: AnyObject { @Optional func f() }"
        let expanded = expansion(of: source)
        for declaration in ["final class P", "nonisolated struct P", "nonisolated enum P"] {
            #expect(expanded.contains("\n\(attributes) public \(declaration)"), "\(expanded)")
        }
        #expect(expanded.contains("\n\(attributes) extension P {"), "\(expanded)")
    }

    @Test func `the broadcaster of a nonisolated protocol is nonisolated`() {
        let expanded = expansion(of: "@Broadcast nonisolated protocol P: AnyObject { func f() }")
        #expect(expanded.contains("\nnonisolated final class PBroadcaster"), "\(expanded)")
    }

    @Test func `backticks are removed from the names of generated types`() {
        let expanded = expansion(of: "@Broadcast(codable) protocol `in`: AnyObject { func f() }")
        for text in ["class inBroadcaster: `in`,", "struct inMethods:", "enum inCall:", "unknownName(in: \"in\")"] {
            #expect(expanded.contains(text), "\(expanded)")
        }
    }

    @Test func `topics are escaped`() {
        let expanded = expansion(
            of: #"@Broadcast(codable) protocol P: AnyObject { @Topic("a\"\\\r\n") func f() }"#)
        #expect(expanded.contains(#"case "a\"\\\r\n":"#), "\(expanded)")
    }

    @Test func `a topic without 'codable' is diagnosed with a warning`() {
        let source = "@Broadcast protocol P: AnyObject {\n    @Topic(\"a\") func f()\n}"
        expect(
            source, expandsTo: expansion(of: source),
            diagnostics: [
                DiagnosticSpec(
                    message: "'@Topic' has no effect without '@Broadcast(codable)'", line: 2,
                    column: 5,
                    severity: .warning, fixIts: [FixItSpec(message: "replace with '@Broadcast(codable)'")])
            ],
            fixed: "@Broadcast(codable) protocol P: AnyObject {\n    @Topic(\"a\") func f()\n}")
    }
}
