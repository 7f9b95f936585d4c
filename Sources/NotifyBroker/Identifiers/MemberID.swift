/// Identifies a member among all current and earlier members of its subscription.
struct MemberID: Hashable {
    let rawValue: UInt32

    var next: MemberID { MemberID(rawValue: rawValue &+ 1) }
}
