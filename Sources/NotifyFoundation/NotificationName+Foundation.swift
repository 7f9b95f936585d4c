import Foundation
import NotifyCenter

extension NotificationName {
    /// Creates the name for the underlying center, in precomposed form: in Foundation, canonically equivalent names are
    /// equal, but the underlying center compares bytes.
    @inline(__always)
    init(_ name: NSNotification.Name) {
        let string = name.rawValue
        self.init(unchecked: string.isASCII ? string : string.precomposedStringWithCanonicalMapping)
    }
}

extension String {
    /// Whether all characters are ASCII. Such a string is in precomposed form.
    @inline(__always)
    fileprivate var isASCII: Bool {
        utf8.withContiguousStorageIfAvailable { $0.reduce(0, |) < 0x80 } ?? false
    }
}
