import SwiftSyntaxMacrosGenericTestSupport
import Testing

/// The diagnostics of protocols that can't be broadcast.
@Suite struct ProtocolDiagnosticTests {
    private static let inherited = "a broadcast protocol can only inherit from 'AnyObject' and 'Sendable';"

    @Test(arguments: [
        Refusal("@Broadcast struct S {}", "'@Broadcast' can only be attached to a protocol", at: 1, 1),
        Refusal(
            "@Broadcast(other) protocol P: AnyObject {\n    func f()\n}", "unknown form 'other'; expected 'codable'",
            at: 1,
            12, fix: "replace with 'codable'", fixed: "@Broadcast(codable) protocol P: AnyObject {\n    func f()\n}"),
        Refusal(
            "@Broadcast protocol P {}", "'P' must inherit from 'AnyObject' because its receivers are held weakly",
            at: 1, 21,
            fix: "add 'AnyObject'", fixed: "@Broadcast protocol P: AnyObject {}"),
        Refusal(
            "@Broadcast protocol P: Sendable {}",
            "'P' must inherit from 'AnyObject' because its receivers are held weakly",
            at: 1, 21, fix: "add 'AnyObject'", fixed: "@Broadcast protocol P: AnyObject, Sendable {}"),
        Refusal(
            "@Broadcast protocol P: AnyObject, Other {}",
            "\(inherited) the requirements of 'Other' are not visible to '@Broadcast'", at: 1,
            35,
            fix: "remove 'Other'", fixed: "@Broadcast protocol P: AnyObject {}"),
        Refusal(
            "@Broadcast protocol P: Other {}",
            "\(inherited) the requirements of 'Other' are not visible to '@Broadcast'", at: 1, 24,
            fix: "replace 'Other' with 'AnyObject'", fixed: "@Broadcast protocol P: AnyObject {}"),
        Refusal(
            "@Broadcast protocol P: AnyObject & Other {}",
            "\(inherited) the requirements of 'Other' are not visible to '@Broadcast'", at: 1,
            24,
            fix: "replace 'AnyObject & Other' with 'AnyObject'", fixed: "@Broadcast protocol P: AnyObject {}"),
        Refusal(
            "@Broadcast protocol P<Element>: AnyObject {}",
            "a protocol with associated types cannot be broadcast; they are different types for each receiver", at: 1,
            22),
        Refusal(
            "@Broadcast protocol P: AnyObject where Self: Sendable {}",
            "a protocol with a 'where' clause cannot be broadcast", at: 1, 34),
        Refusal(
            "@Broadcast(codable) protocol P: AnyObject {}", "'P' has no calls to encode", at: 1, 30),
        Refusal(
            "@Broadcast(codable) protocol P: AnyObject {\n    typealias A = Int\n}",
            "'P' has no calls to encode", at: 1, 30),
        Refusal(
            "enum E {\n    @Broadcast private protocol P: AnyObject {\n        @Optional func f()\n    }\n}",
            "'@Optional' is not supported in a private protocol inside a type; an extension cannot access the protocol",
            at: 2, 16,
            fix: "replace 'private' with 'fileprivate'",
            fixed: """
                enum E {
                    @Broadcast fileprivate protocol P: AnyObject {
                        @Optional func f()
                    }
                }
                """),
    ])
    func `declarations that can't be broadcast are diagnosed`(_ refusal: Refusal) {
        refusal.check()
    }

    @Test func `more than 64 methods are diagnosed`() {
        let members = (1...65).map { "    func f\($0)()\n" }.joined()
        Refusal(
            "@Broadcast protocol P: AnyObject {\n\(members)}",
            "65 requirements exceed the maximum of 64; split the protocol", at: 1, 21
        ).check()
    }

    @Test func `64 methods are accepted`() {
        let members = (1...64).map { "    func f\($0)()\n" }.joined()
        let expanded = expansion(of: "@Broadcast protocol P: AnyObject {\n\(members)}")
        #expect(expanded.contains("static var f64: PMethods {\n        PMethods(rawValue: 1 << 63)\n"))
    }

    @Test(arguments: ["@Broadcast @Broadcast(codable)", "@Broadcast @Broadcast"])
    func `a second broadcast attribute is diagnosed and expands to nothing`(attributes: String) {
        let rest = "protocol P: AnyObject {\n    func f()\n}"
        expect(
            "\(attributes) \(rest)", expandsTo: rest,
            diagnostics: [1, 12].map {
                DiagnosticSpec(message: "duplicate '@Broadcast' attribute", line: 1, column: $0)
            })
    }

    @Test(arguments: [
        Refusal(
            "protocol P {\n    @Optional func f()\n}",
            "'@Optional' can only be attached to a requirement of a '@Broadcast' protocol", at: 2, 5,
            fix: "remove '@Optional'",
            fixed: "protocol P {\n    func f()\n}"),
        Refusal(
            "@Topic(\"t\") func f() {}", "'@Topic' can only be attached to a requirement of a '@Broadcast' protocol",
            at: 1, 1,
            fix: "remove '@Topic'", fixed: "func f() {}"),
        Refusal(
            "@Combined(.first) var x: Int { 1 }",
            "'@Combined' can only be attached to a requirement of a '@Broadcast' protocol",
            at: 1, 1, fix: "remove '@Combined'", fixed: "var x: Int { 1 }"),
    ])
    func `markers outside of a broadcast protocol are diagnosed`(_ refusal: Refusal) {
        refusal.check()
    }
}
