extension UInt32 {
    /// A uid in a message for people: "root", or "user 1000".
    var userTitle: String { self == 0 ? "root" : "user \(self)" }
}
