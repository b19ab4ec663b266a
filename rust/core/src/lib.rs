//! Values, types, schemas, the row encoding, the string dictionary and the error of ringview.
